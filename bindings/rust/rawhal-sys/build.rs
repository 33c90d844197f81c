//! Asks pkg-config where librawhal is: PKG_CONFIG_PATH says where else to look.
use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let minor = version.rsplit_once('.').expect("a version of three numbers").0;
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let wanted = format!("rawhal >= {minor}");
    let found = Command::new("pkg-config")
        .args(["--libs", &wanted])
        .output()
        .expect("pkg-config is needed to find librawhal");
    if !found.status.success() {
        panic!("{}", String::from_utf8_lossy(&found.stderr));
    }
    for word in String::from_utf8_lossy(&found.stdout).split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
}
