-- Forget what a session remembers of its own turns, unless it has work: then its next turn would bring it back.
-- An assessment that runs in it goes with it, and so does the key to its world. It stays on the list of idle sessions:
-- whoever is archiving it finds there that what was archived has to go.
local session, open, lease, participation = unpack(KEYS)

if redis.call('SCARD', open) > 0 or redis.call('HEXISTS', lease, 'owner') == 1 then return -1 end
redis.call('HDEL', session, 'evicted')
local ended = redis.call('DEL', participation)
return math.max(ended, redis.call('HDEL', session, 'state'))
