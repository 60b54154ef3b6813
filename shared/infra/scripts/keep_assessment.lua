-- Keep an assessment of a tenant, and let go of what is too old or too much, in one step. Once more is the same again.
local order, cards, bodies = unpack(KEYS)
local id, card, body, most, seconds = unpack(ARGV)

local now = now_ms()
redis.call('ZADD', order, 'NX', int(now), id)
redis.call('HSET', cards, id, card)
redis.call('HSET', bodies, id, body)
local gone = redis.call('ZRANGEBYSCORE', order, '-inf', int(now - tonumber(seconds) * 1000))
for _, extra in ipairs(redis.call('ZRANGE', order, 0, -1 - tonumber(most))) do gone[#gone + 1] = extra end
for _, old in ipairs(gone) do
  redis.call('ZREM', order, old)
  redis.call('HDEL', cards, old)
  redis.call('HDEL', bodies, old)
end
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, seconds) end
return int(redis.call('ZCARD', order))
