-- A session that is to stay in Redis although it is idle.
return redis.call('ZREM', KEYS[1], ARGV[1])
