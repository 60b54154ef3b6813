-- Enter a webhook of a task, or put it in the place of one of its id. It is told what comes after the cursor; without
-- one, what comes after the newest event. It is looked after at once, whoever has the one before in hand.
local push, deliveries, record, events = unpack(KEYS)
local member, cursor, told, sealed, most = unpack(ARGV)

if redis.call('EXISTS', record) == 0 then return 0 end
if redis.call('HEXISTS', push, member) == 0 and redis.call('HLEN', push) >= tonumber(most) then return -1 end
if cursor == '' then
  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)
  cursor = newest[1] and newest[1][1] or '0'
end
redis.call('HSET', push, member, 'on\n' .. cursor .. '\n' .. told .. '\n' .. sealed)
local left = redis.call('TTL', record)
if left > 0 then redis.call('EXPIRE', push, left) end
redis.call('ZADD', deliveries, int(now_ms()), member)
redis.call('PUBLISH', 'pa:deliveries', deliveries)
return 1
