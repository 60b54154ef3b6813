-- Free a slot; the session that has waited longest for one leaves the queue and is to be woken.
local running, queue = unpack(KEYS)
local session = unpack(ARGV)

if redis.call('ZREM', running, session) == 0 and not again then return false end
local first = redis.call('ZRANGE', queue, 0, 0)[1]
if first then redis.call('ZREM', queue, first) end
return first or false
