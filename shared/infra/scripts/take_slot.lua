-- Give a session a slot if the tenant's cap leaves room after those who wait, or put it into the queue. The reply: 1 or
-- 0, or 2 if an executor had taken its slot before; and the sessions of the queue that got a slot, and are to be woken.
local running, queue = unpack(KEYS)
local session, cap, slot_ms, kept_ms, queue_seconds = unpack(ARGV)

local now = now_ms()
redis.call('ZREMRANGEBYSCORE', running, '-inf', int(now))
local ends = redis.call('ZSCORE', running, session)
if not ends then
  redis.call('ZADD', queue, 'NX', int(now_us()), session)
  redis.call('EXPIRE', queue, queue_seconds)
end
local passed = pass_slots(running, queue, cap, kept_ms)
if not redis.call('ZSCORE', running, session) then return {0, unpack(passed)} end
redis.call('ZADD', running, int(now + slot_ms), session)
redis.call('PEXPIRE', running, 10 * slot_ms)
local was_taken = ends and tonumber(ends) <= now + slot_ms -- a slot that is kept for somebody ends later
return {was_taken and 2 or 1, unpack(passed)}
