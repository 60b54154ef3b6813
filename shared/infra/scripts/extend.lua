-- The heartbeat of one process in one partition; the places of the leases that are lost, and of those whose session has
-- a signal, or whose tenant is stopped. It never shortens a lease that was stretched over a call.
local leased = KEYS[1]
local owner, lease_ms = unpack(ARGV, 1, 2)

local now = now_ms()
local lost, called, scores = {}, {}, {}
for place = 1, (#KEYS - 1) / 3 do
  local lease, signals, stopped = unpack(KEYS, 3 * place - 1, 3 * place + 1)
  local fence, member = ARGV[2 * place + 1], ARGV[2 * place + 2]
  local now_owner, now_fence, ends_at = unpack(redis.call('HMGET', lease, 'owner', 'fence', 'until'))
  if now_owner == owner and now_fence == fence then
    local ends = int(math.max(now + lease_ms, tonumber(ends_at)))
    redis.call('HSET', lease, 'until', ends)
    scores[#scores + 1] = ends
    scores[#scores + 1] = member
    if redis.call('EXISTS', signals) == 1 or stop_reason(stopped) ~= '' then called[#called + 1] = place end
  else
    lost[#lost + 1] = place
  end
end
if #scores > 0 then redis.call('ZADD', leased, unpack(scores)) end
return {lost, called}
