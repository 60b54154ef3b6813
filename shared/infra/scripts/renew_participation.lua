-- Note a turn of an assessment and keep it for longer, unless it was dropped or another took its place.
local participation = unpack(KEYS)
local assessment, turn, seconds = unpack(ARGV)

if redis.call('HGET', participation, 'assessment') ~= assessment then return 0 end
if tonumber(turn) > tonumber(redis.call('HGET', participation, 'turns') or '0') then
  redis.call('HSET', participation, 'turns', turn)
end
redis.call('EXPIRE', participation, seconds)
return 1
