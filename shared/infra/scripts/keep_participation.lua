-- Keep an assessment in a session for longer, as its beginning (``json``) or a turn of it has it. None takes the place of
-- another caller's, and a turn (no ``json``) does not bring back one that was dropped. The same one again keeps its turns.
local participation = unpack(KEYS)
local assessment, caller, json, turn, seconds = unpack(ARGV)

local held = redis.call('HMGET', participation, 'assessment', 'caller', 'turns')
if held[2] and held[2] ~= caller or json == '' and held[1] ~= assessment then return 0 end
if held[1] ~= assessment then
  redis.call('DEL', participation)
  held[3] = false
end
if json ~= '' then redis.call('HSET', participation, 'assessment', assessment, 'caller', caller, 'json', json) end
if tonumber(turn) > tonumber(held[3] or '0') then redis.call('HSET', participation, 'turns', turn) end
redis.call('EXPIRE', participation, seconds)
return 1
