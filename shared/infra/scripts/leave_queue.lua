-- Take a session from its tenant's queue for a slot; 0 if somebody else has taken it.
local queue = unpack(KEYS)
local session = unpack(ARGV)
if redis.call('ZREM', queue, session) == 1 or again then return 1 end
return 0
