-- How one partition stands, for whoever watches the installation. Writes nothing. Its look at waiting sessions is
-- bounded: of those that may be begun now it asks the ``looks`` that were put first for the age of their next turn.
local waiting, leased, asking, timers, deliveries, unarchived, outcomes, dead, dead_turns, doubting = unpack(KEYS)
local overdue_ms, looks = unpack(ARGV)

local now = now_ms()
local due = redis.call('ZCOUNT', waiting, '-inf', int(now + 5000))

-- Microseconds since the session's next turn was accepted. Its keys are named after its partition's and lie in its slot.
local function age(member)
  local stem = string.match(waiting, '^(pa:{p%d+}:)') .. 's:' .. member
  local turn = redis.call('LINDEX', stem .. ':signals', 0) or redis.call('LINDEX', stem .. ':inbox', 0)
  local at = turn and redis.call('HGET', stem .. ':begun', turn .. ':at')
  return at and now_us() - tonumber(at) or 0
end

local oldest = 0
if due > 0 then
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', waiting, '-inf', int(now + 5000), 'LIMIT', 0, looks)) do
    oldest = math.max(oldest, age(member))
  end
end

local asked = redis.call('ZRANGE', asking, 0, 0, 'WITHSCORES')
return {
  due,
  redis.call('ZCARD', waiting) - due,
  int(oldest),
  redis.call('ZCARD', leased),
  redis.call('ZCARD', asking),
  asked[2] and int(now - tonumber(asked[2])) or 0,
  redis.call('ZCOUNT', timers, '-inf', int(now - overdue_ms)),
  redis.call('ZCARD', deliveries),
  redis.call('ZCARD', unarchived),
  redis.call('XLEN', outcomes),
  redis.call('XLEN', dead),
  redis.call('XLEN', dead_turns),
  redis.call('ZCARD', doubting),
}
