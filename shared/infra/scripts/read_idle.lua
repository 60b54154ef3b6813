-- What an idle session remembers, whose it is, its newest task, and the time. One with work is idle no more.
local idle, session, open, inbox, signals, lease = unpack(KEYS)
local member = unpack(ARGV)

local known = redis.call('HMGET', session, 'owner', 'state', 'last')
if known[2] and rests(open, inbox, signals, lease) then
  return {known[1] or '', known[2], known[3] or '', int(now_ms())}
end
redis.call('ZREM', idle, member)
return false
