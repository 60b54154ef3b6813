-- A session gives its slot back. The reply: the sessions that got one thereby, and are to be woken.
local running, queue = unpack(KEYS)
local session, cap, kept_ms = unpack(ARGV)

redis.call('ZREM', running, session)
return pass_slots(running, queue, cap, kept_ms)
