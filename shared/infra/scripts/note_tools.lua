-- Add names to a capped set.
local tools = KEYS[1]
local cap = tonumber(ARGV[1])
local room = cap - redis.call('SCARD', tools)
for i = 2, #ARGV do
  if room < 1 then break end
  room = room - redis.call('SADD', tools, ARGV[i])
end
return 1
