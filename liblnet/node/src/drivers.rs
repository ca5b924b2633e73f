//! The list of drivers, and the only place that names them. A new driver is one line.

use crate::driver_configs::DriverConfigs;
use socklnd::{DeliveryAcks, SocklndConfig};

/// All drivers of this library with their defaults, but for the loopback's, which every node has.
impl Default for DriverConfigs {
    fn default() -> Self {
        Self::none().with(SocklndConfig { delivery_acks: DeliveryAcks::All, ..SocklndConfig::default() })
    }
}
