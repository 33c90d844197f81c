/* Every entry of the tables that the HSA runtime hands to its tools, in their order, and what a
 * limit makes of it: X(name, memory, time), and Y() of those that are in the second major alone.
 * Names are without hsa_, hsa_amd_ or hsa_ext_. A test walks it with the runtime's own header, with
 * what the front replaces, and with docs/front.md. The facts are of hsa_api_trace.h of ROCr 5.2.3
 * and of HSA 1.31. */
#ifndef RAWHAL_FRONT_ENTRIES_H
#define RAWHAL_FRONT_ENTRIES_H

/* Of a device's memory. X(name, hooked, meaning) */
#define FRONT_ENTRY_MEMORY(X)                                                                      \
  X(NONE, false, "")                                                                               \
  X(TAKES, true, "charged before it is allocated; refused if it does not fit")                     \
  X(GIVES, true, "given back afterwards")                                                          \
  X(MAPS, true, "memory of others: charged while it is mapped here, or not mapped")                \
  X(KEEPS, true, "keeps the charge until this is gone, too")                                       \
  X(SIZES, true, "tells how much memory loading takes")                                            \
  X(SHOWS, true, "shows the quota as the device's memory")                                         \
  X(REFUSES, true, "refused")                                                                      \
  X(SEES, true, "its device memory is charged; its scratch, when it is seen")                      \
  X(PROXIES, true, "that of its proxy is charged; if only memory is limited, none")                \
  X(CAPS, true, "capped at what other runtimes let a queue keep")                                  \
  X(RUNTIMES, false, "not charged: the runtime's own, small")                                      \
  X(DRIVERS, false, "not charged: the driver moves it and takes it back")

/* Of a device's time. */
#define FRONT_ENTRY_TIME(X)                                                                        \
  X(NONE, false, "")                                                                               \
  X(MAKES, true, "makes a proxy, whose packets are held back and charged")                         \
  X(QUEUES, true, "on a proxy: applied to the proxy, or refused")                                  \
  X(HOLDS, true, "held back until admitted, and charged")                                          \
  X(TIMES, true, "the front asks for copies' times; the program sees its own")                     \
  X(FORWARDS, true, "forwards what may go while the process ends")                                 \
  X(REFUSED, true, "refused")                                                                      \
  X(UNHELD, false, "not held back: no tested runtime has it")

#define FRONT_ENTRIES_CORE(X, Y)                                                                   \
  X(init, NONE, NONE)                                                                              \
  X(shut_down, NONE, NONE)                                                                         \
  X(system_get_info, NONE, NONE)                                                                   \
  X(system_extension_supported, NONE, NONE)                                                        \
  X(system_get_extension_table, SIZES, NONE)                                                       \
  X(iterate_agents, NONE, NONE)                                                                    \
  X(agent_get_info, SHOWS, NONE)                                                                   \
  X(queue_create, SEES, MAKES)                                                                     \
  X(soft_queue_create, TAKES, NONE)                                                                \
  X(queue_destroy, GIVES, QUEUES)                                                                  \
  X(queue_inactivate, NONE, QUEUES)                                                                \
  X(queue_load_read_index_scacquire, NONE, QUEUES)                                                 \
  X(queue_load_read_index_relaxed, NONE, QUEUES)                                                   \
  X(queue_load_write_index_scacquire, NONE, QUEUES)                                                \
  X(queue_load_write_index_relaxed, NONE, QUEUES)                                                  \
  X(queue_store_write_index_relaxed, NONE, QUEUES)                                                 \
  X(queue_store_write_index_screlease, NONE, QUEUES)                                               \
  X(queue_cas_write_index_scacq_screl, NONE, QUEUES)                                               \
  X(queue_cas_write_index_scacquire, NONE, QUEUES)                                                 \
  X(queue_cas_write_index_relaxed, NONE, QUEUES)                                                   \
  X(queue_cas_write_index_screlease, NONE, QUEUES)                                                 \
  X(queue_add_write_index_scacq_screl, NONE, QUEUES)                                               \
  X(queue_add_write_index_scacquire, NONE, QUEUES)                                                 \
  X(queue_add_write_index_relaxed, NONE, QUEUES)                                                   \
  X(queue_add_write_index_screlease, NONE, QUEUES)                                                 \
  X(queue_store_read_index_relaxed, NONE, QUEUES)                                                  \
  X(queue_store_read_index_screlease, NONE, QUEUES)                                                \
  X(agent_iterate_regions, NONE, NONE)                                                             \
  X(region_get_info, NONE, NONE)                                                                   \
  X(agent_get_exception_policies, NONE, NONE)                                                      \
  X(agent_extension_supported, NONE, NONE)                                                         \
  X(memory_register, NONE, NONE)                                                                   \
  X(memory_deregister, NONE, NONE)                                                                 \
  X(memory_allocate, TAKES, NONE)                                                                  \
  X(memory_free, GIVES, NONE)                                                                      \
  X(memory_copy, NONE, HOLDS)                                                                      \
  X(memory_assign_agent, NONE, NONE)                                                               \
  X(signal_create, RUNTIMES, NONE)                                                                 \
  X(signal_destroy, NONE, TIMES)                                                                   \
  X(signal_load_relaxed, NONE, FORWARDS)                                                           \
  X(signal_load_scacquire, NONE, FORWARDS)                                                         \
  X(signal_store_relaxed, NONE, QUEUES)                                                            \
  X(signal_store_screlease, NONE, QUEUES)                                                          \
  X(signal_wait_relaxed, NONE, FORWARDS)                                                           \
  X(signal_wait_scacquire, NONE, FORWARDS)                                                         \
  X(signal_and_relaxed, NONE, NONE)                                                                \
  X(signal_and_scacquire, NONE, NONE)                                                              \
  X(signal_and_screlease, NONE, NONE)                                                              \
  X(signal_and_scacq_screl, NONE, NONE)                                                            \
  X(signal_or_relaxed, NONE, NONE)                                                                 \
  X(signal_or_scacquire, NONE, NONE)                                                               \
  X(signal_or_screlease, NONE, NONE)                                                               \
  X(signal_or_scacq_screl, NONE, NONE)                                                             \
  X(signal_xor_relaxed, NONE, NONE)                                                                \
  X(signal_xor_scacquire, NONE, NONE)                                                              \
  X(signal_xor_screlease, NONE, NONE)                                                              \
  X(signal_xor_scacq_screl, NONE, NONE)                                                            \
  X(signal_exchange_relaxed, NONE, NONE)                                                           \
  X(signal_exchange_scacquire, NONE, NONE)                                                         \
  X(signal_exchange_screlease, NONE, NONE)                                                         \
  X(signal_exchange_scacq_screl, NONE, NONE)                                                       \
  X(signal_add_relaxed, NONE, NONE)                                                                \
  X(signal_add_scacquire, NONE, NONE)                                                              \
  X(signal_add_screlease, NONE, NONE)                                                              \
  X(signal_add_scacq_screl, NONE, NONE)                                                            \
  X(signal_subtract_relaxed, NONE, NONE)                                                           \
  X(signal_subtract_scacquire, NONE, NONE)                                                         \
  X(signal_subtract_screlease, NONE, NONE)                                                         \
  X(signal_subtract_scacq_screl, NONE, NONE)                                                       \
  X(signal_cas_relaxed, NONE, NONE)                                                                \
  X(signal_cas_scacquire, NONE, NONE)                                                              \
  X(signal_cas_screlease, NONE, NONE)                                                              \
  X(signal_cas_scacq_screl, NONE, NONE)                                                            \
  X(isa_from_name, NONE, NONE)                                                                     \
  X(isa_get_info, NONE, NONE)                                                                      \
  X(isa_compatible, NONE, NONE)                                                                    \
  X(code_object_serialize, NONE, NONE)                                                             \
  X(code_object_deserialize, SIZES, NONE)                                                          \
  X(code_object_destroy, SIZES, NONE)                                                              \
  X(code_object_get_info, NONE, NONE)                                                              \
  X(code_object_get_symbol, NONE, NONE)                                                            \
  X(code_symbol_get_info, NONE, NONE)                                                              \
  X(code_object_iterate_symbols, NONE, NONE)                                                       \
  X(executable_create, NONE, NONE)                                                                 \
  X(executable_destroy, GIVES, NONE)                                                               \
  X(executable_load_code_object, TAKES, NONE)                                                      \
  X(executable_freeze, TAKES, NONE)                                                                \
  X(executable_get_info, NONE, NONE)                                                               \
  X(executable_global_variable_define, NONE, NONE)                                                 \
  X(executable_agent_global_variable_define, NONE, NONE)                                           \
  X(executable_readonly_variable_define, NONE, NONE)                                               \
  X(executable_validate, NONE, NONE)                                                               \
  X(executable_get_symbol, NONE, NONE)                                                             \
  X(executable_symbol_get_info, NONE, NONE)                                                        \
  X(executable_iterate_symbols, NONE, NONE)                                                        \
  X(status_string, NONE, NONE)                                                                     \
  X(extension_get_name, NONE, NONE)                                                                \
  X(system_major_extension_supported, NONE, NONE)                                                  \
  X(system_get_major_extension_table, SIZES, NONE)                                                 \
  X(agent_major_extension_supported, NONE, NONE)                                                   \
  X(cache_get_info, NONE, NONE)                                                                    \
  X(agent_iterate_caches, NONE, NONE)                                                              \
  X(signal_silent_store_relaxed, NONE, QUEUES)                                                     \
  X(signal_silent_store_screlease, NONE, QUEUES)                                                   \
  X(signal_group_create, NONE, NONE)                                                               \
  X(signal_group_destroy, NONE, NONE)                                                              \
  X(signal_group_wait_any_scacquire, NONE, NONE)                                                   \
  X(signal_group_wait_any_relaxed, NONE, NONE)                                                     \
  X(agent_iterate_isas, NONE, NONE)                                                                \
  X(isa_get_info_alt, NONE, NONE)                                                                  \
  X(isa_get_exception_policies, NONE, NONE)                                                        \
  X(isa_get_round_method, NONE, NONE)                                                              \
  X(wavefront_get_info, NONE, NONE)                                                                \
  X(isa_iterate_wavefronts, NONE, NONE)                                                            \
  X(code_object_get_symbol_from_name, NONE, NONE)                                                  \
  X(code_object_reader_create_from_file, SIZES, NONE)                                              \
  X(code_object_reader_create_from_memory, SIZES, NONE)                                            \
  X(code_object_reader_destroy, SIZES, NONE)                                                       \
  X(executable_create_alt, NONE, NONE)                                                             \
  X(executable_load_program_code_object, TAKES, NONE)                                              \
  X(executable_load_agent_code_object, TAKES, NONE)                                                \
  X(executable_validate_alt, NONE, NONE)                                                           \
  X(executable_get_symbol_by_name, NONE, NONE)                                                     \
  X(executable_iterate_agent_symbols, NONE, NONE)                                                  \
  X(executable_iterate_program_symbols, NONE, NONE)

#define FRONT_ENTRIES_AMD(X, Y)                                                                    \
  X(coherency_get_type, NONE, NONE)                                                                \
  X(coherency_set_type, NONE, NONE)                                                                \
  X(profiling_set_profiler_enabled, NONE, QUEUES)                                                  \
  X(profiling_async_copy_enable, NONE, TIMES)                                                      \
  X(profiling_get_dispatch_time, NONE, NONE)                                                       \
  X(profiling_get_async_copy_time, NONE, TIMES)                                                    \
  X(profiling_convert_tick_to_system_domain, NONE, NONE)                                           \
  X(signal_async_handler, NONE, NONE)                                                              \
  X(async_function, NONE, NONE)                                                                    \
  X(signal_wait_any, NONE, NONE)                                                                   \
  X(queue_cu_set_mask, NONE, QUEUES)                                                               \
  X(memory_pool_get_info, SHOWS, NONE)                                                             \
  X(agent_iterate_memory_pools, NONE, NONE)                                                        \
  X(memory_pool_allocate, TAKES, NONE)                                                             \
  X(memory_pool_free, GIVES, NONE)                                                                 \
  X(memory_async_copy, NONE, HOLDS)                                                                \
  Y(memory_async_copy_on_engine, NONE, HOLDS)                                                      \
  Y(memory_copy_engine_status, NONE, NONE)                                                         \
  X(agent_memory_pool_get_info, NONE, NONE)                                                        \
  X(agents_allow_access, NONE, NONE)                                                               \
  X(memory_pool_can_migrate, NONE, NONE)                                                           \
  X(memory_migrate, REFUSES, NONE)                                                                 \
  X(memory_lock, NONE, NONE)                                                                       \
  X(memory_unlock, NONE, NONE)                                                                     \
  X(memory_fill, NONE, HOLDS)                                                                      \
  X(interop_map_buffer, MAPS, NONE)                                                                \
  X(interop_unmap_buffer, GIVES, NONE)                                                             \
  X(image_create, RUNTIMES, NONE)                                                                  \
  X(pointer_info, NONE, NONE)                                                                      \
  X(pointer_info_set_userdata, NONE, NONE)                                                         \
  X(ipc_memory_create, NONE, NONE)                                                                 \
  X(ipc_memory_attach, MAPS, NONE)                                                                 \
  X(ipc_memory_detach, GIVES, NONE)                                                                \
  X(signal_create, RUNTIMES, NONE)                                                                 \
  X(ipc_signal_create, RUNTIMES, NONE)                                                             \
  X(ipc_signal_attach, NONE, NONE)                                                                 \
  X(register_system_event_handler, NONE, NONE)                                                     \
  X(queue_intercept_create, RUNTIMES, REFUSED)                                                     \
  X(queue_intercept_register, NONE, QUEUES)                                                        \
  X(queue_set_priority, NONE, QUEUES)                                                              \
  X(memory_async_copy_rect, NONE, HOLDS)                                                           \
  X(runtime_queue_create_register, NONE, NONE)                                                     \
  X(memory_lock_to_pool, NONE, NONE)                                                               \
  X(register_deallocation_callback, NONE, NONE)                                                    \
  X(deregister_deallocation_callback, NONE, NONE)                                                  \
  X(signal_value_pointer, NONE, NONE)                                                              \
  X(svm_attributes_set, DRIVERS, NONE)                                                             \
  X(svm_attributes_get, NONE, NONE)                                                                \
  X(svm_prefetch_async, DRIVERS, HOLDS)                                                            \
  Y(spm_acquire, NONE, NONE)                                                                       \
  Y(spm_release, NONE, NONE)                                                                       \
  Y(spm_set_dest_buffer, NONE, NONE)                                                               \
  X(queue_cu_get_mask, NONE, QUEUES)                                                               \
  Y(portable_export_dmabuf, KEEPS, NONE)                                                           \
  Y(portable_close_dmabuf, NONE, NONE)                                                             \
  Y(vmem_address_reserve, NONE, NONE)                                                              \
  Y(vmem_address_free, NONE, NONE)                                                                 \
  Y(vmem_handle_create, TAKES, NONE)                                                               \
  Y(vmem_handle_release, GIVES, NONE)                                                              \
  Y(vmem_map, KEEPS, NONE)                                                                         \
  Y(vmem_unmap, GIVES, NONE)                                                                       \
  Y(vmem_set_access, NONE, NONE)                                                                   \
  Y(vmem_get_access, NONE, NONE)                                                                   \
  Y(vmem_export_shareable_handle, KEEPS, NONE)                                                     \
  Y(vmem_import_shareable_handle, MAPS, NONE)                                                      \
  Y(vmem_retain_alloc_handle, KEEPS, NONE)                                                         \
  Y(vmem_get_alloc_properties_from_handle, NONE, NONE)                                             \
  Y(agent_set_async_scratch_limit, CAPS, NONE)                                                     \
  Y(queue_get_info, NONE, QUEUES)                                                                  \
  Y(vmem_address_reserve_align, NONE, NONE)                                                        \
  Y(enable_logging, NONE, NONE)                                                                    \
  Y(signal_wait_all, NONE, NONE)                                                                   \
  Y(memory_get_preferred_copy_engine, NONE, NONE)                                                  \
  Y(portable_export_dmabuf_v2, KEEPS, NONE)                                                        \
  Y(ais_file_write, NONE, UNHELD)                                                                  \
  Y(ais_file_read, NONE, UNHELD)                                                                   \
  Y(counted_queue_acquire, PROXIES, MAKES)                                                         \
  Y(counted_queue_release, NONE, QUEUES)                                                           \
  Y(memory_async_batch_copy, NONE, UNHELD)                                                         \
  Y(agent_preload, RUNTIMES, NONE)                                                                 \
  Y(svm_discard_batch_async, NONE, UNHELD)                                                         \
  Y(signal_get_event_id, NONE, NONE)                                                               \
  Y(sdma_queue_create, RUNTIMES, UNHELD)                                                           \
  Y(sdma_queue_destroy, NONE, NONE)                                                                \
  Y(sdma_queue_get_info, NONE, NONE)                                                               \
  Y(sdma_queue_ring_doorbell, NONE, UNHELD)                                                        \
  Y(queue_create, PROXIES, MAKES)                                                                  \
  Y(queue_signal_semaphore, NONE, QUEUES)                                                          \
  Y(queue_wait_semaphore, NONE, QUEUES)

#define FRONT_ENTRIES_IMAGE(X, Y)                                                                  \
  X(image_get_capability, NONE, NONE)                                                              \
  X(image_data_get_info, NONE, NONE)                                                               \
  X(image_create, RUNTIMES, NONE)                                                                  \
  X(image_import, NONE, HOLDS)                                                                     \
  X(image_export, NONE, HOLDS)                                                                     \
  X(image_copy, NONE, HOLDS)                                                                       \
  X(image_clear, NONE, HOLDS)                                                                      \
  X(image_destroy, NONE, NONE)                                                                     \
  X(sampler_create, RUNTIMES, NONE)                                                                \
  X(sampler_destroy, NONE, NONE)                                                                   \
  X(image_get_capability_with_layout, NONE, NONE)                                                  \
  X(image_data_get_info_with_layout, NONE, NONE)                                                   \
  X(image_create_with_layout, RUNTIMES, NONE)                                                      \
  Y(sampler_create_v2, RUNTIMES, NONE)

#define FRONT_ENTRIES_FINALIZER(X, Y)                                                              \
  X(program_create, NONE, NONE)                                                                    \
  X(program_destroy, NONE, NONE)                                                                   \
  X(program_add_module, NONE, NONE)                                                                \
  X(program_iterate_modules, NONE, NONE)                                                           \
  X(program_get_info, NONE, NONE)                                                                  \
  X(program_finalize, NONE, NONE)

#endif
