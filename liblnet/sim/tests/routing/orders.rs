//! Every order in which messages can arrive.
