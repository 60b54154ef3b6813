-- Whether the server takes writes: one without memory, with a full disk or that is a replica refuses this one.
-- What it writes is kept out of the log, so it waits for no disk.
pcall(redis.set_repl, redis.REPL_NONE)
redis.call('SET', KEYS[1], '1', 'PX', 1000)
return 1
