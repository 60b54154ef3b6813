-- Store how far a line was told, if the claim still holds, and when it is looked after next. A notice that is delivered
-- or given up goes; a webhook rests unless its task has told more meanwhile. The new token; '' if the claim is lost.
local deliveries, hash, events = unpack(KEYS)
local member, token, step, ms, cursor, told, once = unpack(ARGV)

if redis.call('ZSCORE', deliveries, member) ~= token then return '' end
local known = redis.call('HGET', hash, member)
local over = step == 'done' or step == 'off'
if not known or (over and once == '1') then
  redis.call('HDEL', hash, member)
  redis.call('ZREM', deliveries, member)
  return ''
end
local sealed = string.match(known, '^[^\n]*\n[^\n]*\n[^\n]*\n(.*)$')
local flag = step == 'off' and 'off' or 'on'
redis.call('HSET', hash, member, flag .. '\n' .. cursor .. '\n' .. told .. '\n' .. sealed)
if not over then
  local due = int(step == 'hold' and math.max(now_ms() + ms, token + 1) or now_ms() + ms)
  redis.call('ZADD', deliveries, due, member)
  return due
end
redis.call('ZREM', deliveries, member)
local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)
if step == 'done' and newest[1] and newest[1][1] ~= cursor then
  redis.call('ZADD', deliveries, int(now_ms()), member)
  redis.call('PUBLISH', 'pa:deliveries', deliveries)
end
return ''
