//! One kernel of a code object: c = a + b, its arguments checked against the kernel's layout.
//!
//! usage: vector_add FILE
use rawhal_sys::*;
use std::ffi::{c_void, CStr, CString};
use std::ptr::{null, null_mut};

const COUNT: usize = 1 << 16;
const BYTES: usize = COUNT * std::mem::size_of::<f32>();

/// Calls a function that has an error record as its last parameter; returns what that says of a failure.
macro_rules! check {
    ($function:ident($($given:expr),*)) => {
        let mut error = rawhal_error_t::default();
        let status = $function($($given,)* &mut error);
        if status != RAWHAL_OK {
            let name = text(rawhal_status_name(status));
            return Err(format!("{name}: {}", text(error.message.as_ptr())));
        }
    };
}

unsafe fn text(at: *const std::os::raw::c_char) -> String {
    CStr::from_ptr(at).to_string_lossy().into_owned()
}

unsafe fn run(path: &CStr) -> Result<(), String> {
    let mut instance = null_mut();
    check!(rawhal_instance_create(null(), &mut instance));
    let device = rawhal_instance_device(instance, 0);
    let mut executable = null_mut();
    check!(rawhal_executable_open_file(device, path.as_ptr(), null(), &mut executable));
    let mut kernel = null();
    let name = rawhal_string(b"vector_add\0".as_ptr().cast());
    check!(rawhal_executable_kernel(executable, name, 0, &mut kernel));

    let mut buffers = [null_mut(); 3];
    for buffer in &mut buffers {
        check!(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, BYTES, buffer));
    }
    let a: Vec<f32> = (0..COUNT).map(|i| i as f32).collect();
    let b = vec![0.5f32; COUNT];
    check!(rawhal_buffer_write(buffers[1], 0, a.as_ptr().cast(), BYTES));
    check!(rawhal_buffer_write(buffers[2], 0, b.as_ptr().cast(), BYTES));

    // vector_add(c, a, b, n). The first that does not fit is what rawhal_builder_finish() fails with.
    let mut builder = null_mut();
    let layout = (*rawhal_device_kernel_info(kernel)).layout;
    check!(rawhal_builder_create(layout, null(), &mut builder));
    for buffer in buffers {
        rawhal_append_pointer(builder, null(), rawhal_buffer_address(buffer) as *const c_void);
    }
    rawhal_append_uint(builder, b"n\0".as_ptr().cast(), COUNT as u32);
    let mut blob = rawhal_bytes_t::default();
    check!(rawhal_builder_finish(builder, &mut blob));

    let dispatch = rawhal_dispatch_t {
        kernel,
        work_items: [COUNT as u32, 1, 1],
        workgroup: [256, 1, 1],
        blob: blob.data,
        blob_size: blob.size,
        ..Default::default()
    };
    let (mut queue, mut ticket) = (null_mut(), 0);
    check!(rawhal_queue_create(device, null(), &mut queue));
    check!(rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &mut ticket));
    check!(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER));

    let mut c = vec![0f32; COUNT];
    check!(rawhal_buffer_read(buffers[0], 0, c.as_mut_ptr().cast(), BYTES));
    let right = (0..COUNT).filter(|&i| c[i] == a[i] + b[i]).count();
    let device = text((*rawhal_device_info(device)).description.as_ptr());
    println!("{right} of {COUNT} sums are right, on {device}");

    rawhal_queue_destroy(queue);
    rawhal_builder_destroy(builder);
    buffers.into_iter().for_each(|buffer| rawhal_buffer_free(buffer));
    rawhal_executable_destroy(executable);
    rawhal_instance_destroy(instance);
    if right < COUNT {
        return Err("the kernel is wrong".to_string());
    }
    Ok(())
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or_else(|| "vector_add.co".to_string());
    if let Err(message) = unsafe { run(&CString::new(path).unwrap()) } {
        eprintln!("vector_add: {message}");
        std::process::exit(1);
    }
}
