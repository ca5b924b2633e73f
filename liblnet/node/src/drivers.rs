//! The list of drivers, and the only place that names them. A new driver is one line.

use crate::driver_configs::DriverConfigs;
use lnet_core::lnd::Driver;
use lolnd::Lolnd;
use o2iblnd::O2iblndConfig;
use shmlnd::ShmlndConfig;
use socklnd::{DeliveryAcks, SocklndConfig};

/// The driver of `0@lo`. Every node has it, and no configuration.
pub(crate) const LOOPBACK: &dyn Driver = &Lolnd;

/// All drivers of this library with their defaults, but for the loopback's, which every node has.
impl Default for DriverConfigs {
    fn default() -> Self {
        Self::none()
            .with(SocklndConfig { delivery_acks: DeliveryAcks::All, ..SocklndConfig::default() })
            .with(O2iblndConfig::default())
            .with(ShmlndConfig::default())
    }
}
