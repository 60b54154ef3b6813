-- Give a session a slot if the tenant's cap leaves room, or put it into the queue. Slots of dead processes are free.
local running, queue = unpack(KEYS)
local session, cap, slot_ms, queue_seconds = unpack(ARGV)

local now = now_ms()
redis.call('ZREMRANGEBYSCORE', running, '-inf', int(now))
if redis.call('ZSCORE', running, session) or redis.call('ZCARD', running) < tonumber(cap) then
  redis.call('ZADD', running, int(now + slot_ms), session)
  redis.call('PEXPIRE', running, 10 * slot_ms)
  redis.call('ZREM', queue, session)
  return 1
end
redis.call('ZADD', queue, 'NX', int(now), session)
redis.call('EXPIRE', queue, queue_seconds)
return 0
