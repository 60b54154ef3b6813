-- Begin an assessment in a session, unless another principal's runs there. The same one again keeps its turns.
local participation = unpack(KEYS)
local assessment, caller, json, seconds = unpack(ARGV)

local now = redis.call('HMGET', participation, 'assessment', 'caller')
if now[2] and now[2] ~= caller then return 0 end
if now[1] ~= assessment then redis.call('DEL', participation) end
redis.call('HSET', participation, 'assessment', assessment, 'caller', caller, 'json', json)
redis.call('EXPIRE', participation, seconds)
return 1
