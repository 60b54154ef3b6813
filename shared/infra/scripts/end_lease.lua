-- The owner of a lease is known to be dead: the lease is over at once. Where a call that it sent may still be answered,
-- or that cannot be told, the lease runs out as it stands (I3).
local lease, leased, begun = unpack(KEYS)
local owner, member = unpack(ARGV)

if redis.call('HGET', lease, 'owner') ~= owner then return 0 end
local turn_id = string.match(redis.call('HGET', begun, 'now') or '', '^%d+ (.*)$')
if turn_id then
  local stem = redis.call('HGET', begun, turn_id .. ':of')
  if not stem then return 0 end
  for _, row in ipairs(redis.call('HVALS', stem .. 'ledger')) do
    if string.match(row, '^[^\n]*') == 'sending' then return 0 end
  end
end
local now = int(now_ms())
redis.call('HSET', lease, 'until', now)
redis.call('ZADD', leased, 'XX', now, member)
return 1
