-- Begin the next turn: signals first; while the tenant is stopped, only cancels. It stays queued until it is finished.
local lease, inbox, signals, turns, begun, stopped = unpack(KEYS)
local owner, fence = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
local stops = stop_reason(stopped) ~= ''
local turn_id, turn
repeat
  if stops then
    turn_id = urgent(signals, begun)
  else
    turn_id = redis.call('LINDEX', signals, 0) or redis.call('LINDEX', inbox, 0)
  end
  if not turn_id then return {'none'} end
  turn = redis.call('HGET', turns, turn_id)
  if not turn then -- an id whose turn is done: left standing, it would hold up the session for good
    redis.call('LREM', signals, 1, turn_id)
    redis.call('LREM', inbox, 1, turn_id)
  end
until turn
local repeated = again and redis.call('HGET', begun, 'now') == fence .. ' ' .. turn_id
local attempts = redis.call('HINCRBY', begun, turn_id, repeated and 0 or 1)
redis.call('HSET', begun, 'now', fence .. ' ' .. turn_id)
local waited = now_us() - tonumber(redis.call('HGET', begun, turn_id .. ':at') or now_us())
local problem = redis.call('HGET', begun, turn_id .. ':error') or ''
return {'ok', turn, attempts, int(waited), problem, turn_id}
