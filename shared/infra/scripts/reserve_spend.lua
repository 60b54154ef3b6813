-- Set the cost of one call aside if it fits under the day's caps, with all that is spent and set aside (I11).
local spend = unpack(KEYS)
local name, tokens, nanos, most_tokens, most_nanos, kept = unpack(ARGV)

local call = 'r:' .. name
if redis.call('HEXISTS', spend, call) == 1 then return 1 end
local known = redis.call('HMGET', spend, 'tokens', 'reserved_tokens', 'nanos', 'reserved_nanos')
local function fits(spent, aside, more, most)
  return tonumber(most) < 0 or (tonumber(spent or 0) + tonumber(aside or 0) + tonumber(more)) <= tonumber(most)
end
if not fits(known[1], known[2], tokens, most_tokens) then return 0 end
if not fits(known[3], known[4], nanos, most_nanos) then return 0 end
redis.call('HSET', spend, call, tokens .. ' ' .. nanos)
redis.call('HINCRBY', spend, 'reserved_tokens', tokens)
redis.call('HINCRBY', spend, 'reserved_nanos', nanos)
redis.call('EXPIRE', spend, kept)
return 1
