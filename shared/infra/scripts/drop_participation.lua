-- Drop an assessment and its key, unless another has taken its place.
local participation = unpack(KEYS)
local assessment = unpack(ARGV)

if redis.call('HGET', participation, 'assessment') ~= assessment then return 0 end
return redis.call('DEL', participation)
