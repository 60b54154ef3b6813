-- Keep seats for another while.
local running = unpack(KEYS)
local seat_ms = tonumber(ARGV[1])

local ends = int(now_ms() + seat_ms)
for i = 2, #ARGV do redis.call('ZADD', running, ends, ARGV[i]) end
redis.call('PEXPIRE', running, 10 * seat_ms)
return 1
