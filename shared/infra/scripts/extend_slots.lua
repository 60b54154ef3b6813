-- Keep slots for another while.
local running = unpack(KEYS)
local slot_ms = tonumber(ARGV[1])

local ends = int(now_ms() + slot_ms)
for i = 2, #ARGV do redis.call('ZADD', running, ends, ARGV[i]) end
redis.call('PEXPIRE', running, 10 * slot_ms)
return 1
