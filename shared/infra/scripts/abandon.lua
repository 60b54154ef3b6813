-- Give the lease back although work waits; the reaper wakes somebody once the delay is over.
-- A turn that this owner began and hands over in good order has not used up one of its attempts.
local lease, inbox, signals, begun, waiting, leased, session, open, idle = unpack(KEYS)
local owner, fence, member, delay_ms, handed_over, problem, retention = unpack(ARGV)

if not holds(lease, owner, fence) then return {again and 'ok' or 'lost'} end
local turn_id = string.match(redis.call('HGET', begun, 'now') or '', '^' .. fence .. ' (.*)$')
if turn_id and redis.call('HEXISTS', begun, turn_id) == 1 then
  if handed_over == '1' then redis.call('HINCRBY', begun, turn_id, -1) end
  if problem ~= '' then redis.call('HSET', begun, turn_id .. ':error', problem) end
end
redis.call('HDEL', begun, 'now')
redis.call('HDEL', lease, 'owner', 'until')
redis.call('ZREM', leased, member)
if has_turns(inbox, signals) then
  redis.call('ZADD', waiting, put_off_score(delay_ms), member)
else
  expire_if_idle(open, session, lease, retention, idle, member)
end
return {'ok'}
