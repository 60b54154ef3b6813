-- Enter what somebody is to be told, and have it looked after at once: a webhook of a task, in the place of one of its id,
-- whoever has that in hand; or, where there is no task among the keys, a notice, once. A webhook is told what comes after
-- the cursor; without one, what comes after the newest event.
local hash, deliveries, record, events = unpack(KEYS)
local member, cursor, told, sealed, most = unpack(ARGV)

local known = redis.call('HEXISTS', hash, member) == 1
if record and redis.call('EXISTS', record) == 0 or known and not record then return 0 end
if record and not known and redis.call('HLEN', hash) >= tonumber(most) then return -1 end
if cursor == '' then
  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)
  cursor = newest[1] and newest[1][1] or '0'
end
redis.call('HSET', hash, member, 'on\n' .. cursor .. '\n' .. told .. '\n' .. sealed)
local left = record and redis.call('TTL', record) or 0
if left > 0 then redis.call('EXPIRE', hash, left) end
redis.call('ZADD', deliveries, int(now_ms()), member)
redis.call('PUBLISH', 'pa:deliveries', deliveries)
return 1
