//! The configurations of a node's drivers, by driver.

use lnet_core::lnd::{Driver, DriverConfig, DriverContext};
use lnet_settings::{RejectedVariable, Spec, Value};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// The drivers that a node has, each by its configuration. The default is all drivers of this library.
#[derive(Clone, Debug)]
pub struct DriverConfigs(Vec<Box<dyn AnyConfig>>);

impl DriverConfigs {
    /// No drivers: a node with these has only the loopback.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// These, and the driver of `config`; its configuration replaces one of the same type.
    #[must_use]
    pub fn with<C: DriverConfig>(mut self, config: C) -> Self {
        match self.get_mut::<C>() {
            Some(known) => *known = config,
            None => self.0.push(Box::new(config)),
        }
        self
    }

    /// The configuration of one driver; `None` if the driver is not there.
    pub fn get<C: DriverConfig>(&self) -> Option<&C> {
        self.0.iter().find_map(|config| (&**config as &dyn Any).downcast_ref())
    }

    /// The configuration of one driver, to be changed; `None` if the driver is not there.
    pub fn get_mut<C: DriverConfig>(&mut self) -> Option<&mut C> {
        self.0.iter_mut().find_map(|config| (&mut **config as &mut dyn Any).downcast_mut())
    }

    /// Stores what the environment variables say, as [`lnet_settings::apply`] does for one table.
    pub(crate) fn apply(
        &mut self,
        look_up: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<(&'static str, &'static str)>, RejectedVariable> {
        let mut set = Vec::new();
        for config in &mut self.0 {
            set.extend(config.apply(look_up)?);
        }
        Ok(set)
    }

    /// Calls `each` with all tunables and their values.
    pub(crate) fn for_each(&self, each: &mut dyn FnMut(&'static Spec, Value)) {
        self.0.iter().for_each(|config| config.for_each(each));
    }

    /// The names of the drivers.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|config| config.name())
    }

    /// Makes the drivers of one node.
    pub(crate) fn drivers(&self, node: &DriverContext) -> Vec<Arc<dyn Driver>> {
        self.0.iter().map(|config| config.driver(node.clone())).collect()
    }
}

/// A [`DriverConfig`] of any type.
trait AnyConfig: Any + Debug + Send + Sync {
    fn boxed(&self) -> Box<dyn AnyConfig>;
    fn name(&self) -> &'static str;
    fn apply(
        &mut self,
        look_up: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<(&'static str, &'static str)>, RejectedVariable>;
    fn for_each(&self, each: &mut dyn FnMut(&'static Spec, Value));
    fn driver(&self, node: DriverContext) -> Arc<dyn Driver>;
}

impl<C: DriverConfig> AnyConfig for C {
    fn boxed(&self) -> Box<dyn AnyConfig> {
        Box::new(self.clone())
    }

    fn name(&self) -> &'static str {
        C::NAME
    }

    fn apply(
        &mut self,
        look_up: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<(&'static str, &'static str)>, RejectedVariable> {
        lnet_settings::apply(C::TUNABLES, self, look_up)
    }

    fn for_each(&self, each: &mut dyn FnMut(&'static Spec, Value)) {
        C::TUNABLES.iter().for_each(|row| each(&row.spec, row.read(self)));
    }

    fn driver(&self, node: DriverContext) -> Arc<dyn Driver> {
        DriverConfig::driver(self, node)
    }
}

impl Clone for Box<dyn AnyConfig> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}
