-- What an idle session remembers is in the archive and leaves, if it is still what was read. Whose session it is stays
-- for its time, and that there is more of it in the archive. Repeat it freely.
local idle, session, open, inbox, signals, lease = unpack(KEYS)
local member, state = unpack(ARGV)

local known = redis.call('HMGET', session, 'state', 'evicted')
if not known[1] and not known[2] then return 0 end -- forgotten: it stays on the list until the archive is empty, too
redis.call('ZREM', idle, member)
if not known[1] and known[2] then return 1 end
if known[1] ~= state or not is_idle(open, inbox, signals, lease) then return 0 end
redis.call('HDEL', session, 'state')
redis.call('HSET', session, 'evicted', int(now_ms()))
return 1
