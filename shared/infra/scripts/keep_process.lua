-- Keep a synthesized process in a capped hash; the first one stays. Returns the one that is kept, or else the given one.
local processes, cap, name, text = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]
local kept = redis.call('HGET', processes, name)
if kept then return kept end
if redis.call('HLEN', processes) < cap then redis.call('HSET', processes, name, text) end
return text
