-- Everything that is known of an ended task, or only its record and its other name. Reads only.
local record, journal, ledger, events, approvals = unpack(KEYS)
local whole = unpack(ARGV)

local known = redis.call('HMGET', record, 'json', 'known_as')
if not known[1] then return false end
if whole == '0' then return {known[1], known[2] or ''} end
return {
  known[1], known[2] or '', redis.call('XRANGE', journal, '-', '+'), redis.call('HGETALL', ledger),
  redis.call('HGETALL', approvals), redis.call('XRANGE', events, '-', '+'),
}
