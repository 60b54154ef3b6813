-- Take the session's lease if it is free or over and something waits there; the fence grows with every owner.
-- A living lease of the caller's own is one whose claim it never heard of: it is taken under a new fence.
-- Replies with the fence and what the claim put right: the words are those of the port.
-- While the tenant is stopped only cancels are taken; all else is looked at much later.
local lease, inbox, signals, begun, waiting, leased, stopped, session, open, idle = unpack(KEYS)
local owner, lease_ms, member, not_running, owner_gone, stopped_ms, retention = unpack(ARGV)

local now = now_ms()
local held = redis.call('HMGET', lease, 'owner', 'until', 'fence')
local lives = held[2] and tonumber(held[2]) > now
if lives and again and held[1] == owner then return {tonumber(held[3]), ''} end
if lives and held[1] ~= owner then return false end
if redis.call('LLEN', inbox) + redis.call('LLEN', signals) == 0 then
  redis.call('HDEL', lease, 'owner', 'until')
  redis.call('ZREM', waiting, member)
  redis.call('ZREM', leased, member)
  -- Its last owner may have died between its last turn and its release.
  leaves_in_time(open, session, lease, retention, idle, member)
  return false
end
if stop_reason(stopped) ~= '' and not urgent(signals, begun) then
  redis.call('HDEL', lease, 'owner', 'until')
  redis.call('ZREM', leased, member)
  redis.call('ZADD', waiting, looked_at_in(stopped_ms), member)
  return false
end
local mended = ''
if held[1] then
  local ran = held[3] == string.match(redis.call('HGET', begun, 'now') or '', '^%d+')
  mended = ran and owner_gone or not_running
end
local fence = redis.call('HINCRBY', lease, 'fence', 1)
redis.call('HSET', lease, 'owner', owner, 'until', int(now + lease_ms))
redis.call('ZREM', waiting, member)
redis.call('ZADD', leased, int(now + lease_ms), member)
return {fence, mended}
