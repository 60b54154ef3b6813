-- A task's name goes with the task, unless it leads to another one by now.
local alias = unpack(KEYS)
local value, seconds = unpack(ARGV)

if redis.call('GET', alias) ~= value then return 0 end
return redis.call('EXPIRE', alias, seconds)
