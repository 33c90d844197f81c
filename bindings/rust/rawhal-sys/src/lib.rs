//! The C interface of librawhal, as it is: every call is unsafe, and what the documentation says of
//! ownership, threads and errors is for the caller to keep. A structure's `Default` is zeros, with
//! its size where it has one.
#![allow(non_camel_case_types)]

mod interface;
pub use interface::*;
