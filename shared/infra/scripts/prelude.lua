-- What a script uses of this stands before it. Lua here moves opaque strings; it never parses or builds JSON.
local moment -- of this call: for a script the clock stands still
local function now_us()
  if not moment then
    local time = redis.call('TIME')
    moment = tonumber(time[1]) * 1000000 + tonumber(time[2])
  end
  return moment
end

local function now_ms()
  return math.floor(now_us() / 1000)
end

local function int(number)
  return string.format('%.0f', number)
end

-- The line of writes that this server continues: one that was restarted or promoted has another. '' where none may ask.
local function line_of_writes()
  local info = redis.pcall('INFO', 'replication')
  return type(info) == 'string' and string.match(info, 'master_replid:(%x+)') or ''
end

-- One command for many words, in pieces that Lua can spell; none for none. Each command in the log has its key's name.
local function call_with(command, key, words)
  for first = 1, #words, 2000 do redis.call(command, key, unpack(words, first, math.min(first + 1999, #words))) end
end

local function holds(lease, owner, fence)
  local now_owner, now_fence = unpack(redis.call('HMGET', lease, 'owner', 'fence'))
  return now_owner == owner and now_fence == fence
end

-- Have every webhook of a task called soon, in the step that published: what is claimed or waits for a retry stays as
-- it is, and whoever settles it looks at the stream again. Both keys are named after the stream, and lie in its slot.
local function queue_webhooks(events)
  local hooks = redis.call('HGETALL', string.sub(events, 1, -#'events' - 1) .. 'push')
  if #hooks == 0 then return end
  local news, deliveries = 0, string.match(events, '^pa:{p%d+}:') .. 'deliveries'
  for i = 1, #hooks, 2 do
    if string.sub(hooks[i + 1], 1, 3) == 'on\n' then
      news = news + redis.call('ZADD', deliveries, 'NX', int(now_ms()), hooks[i])
    end
  end
  if news > 0 then redis.call('PUBLISH', 'pa:deliveries', deliveries) end
end

-- ``count`` events are one entry of their task's stream: its id is the last one's, the ids just below are the others'.
-- Whoever follows the task gets the entry itself, and need not read it.
local function append_events(events, kept, count, entry)
  if count == '0' then return end
  local id = '*'
  if count ~= '1' then
    local ms, last = now_ms(), -1
    local newest = redis.call('XREVRANGE', events, '+', int(ms), 'COUNT', 1)[1] -- mostly none is as new as this
    if newest then
      ms, last = string.match(newest[1], '^(%d+)-(%d+)$')
    end
    id = int(ms) .. '-' .. int(last + count)
  end
  id = redis.call('XADD', events, id, 'e', entry)
  redis.call('PUBLISH', events, id .. '\n' .. entry)
  if redis.call('XLEN', events) > tonumber(kept) then redis.call('XTRIM', events, 'MAXLEN', '~', kept) end
  queue_webhooks(events)
end

-- Move a task between the lists of its states before its record is changed; ``before`` is the record's state till then.
-- ``listed`` of the record names them: what the lists of its owner, its tenant and its session begin with, the task as
-- they know it, and for how many seconds an ended task stays listed. All of them are in the record's slot.
local function move_in_lists(listed, before, state, ended)
  local owner, tenant, session, task, seconds = string.match(listed or '', '^(.-)\n(.-)\n(.-)\n(.-)\n(.*)$')
  if not owner then return end
  local now = now_us()
  for _, stem in ipairs({owner, tenant, session}) do
    redis.call('ZADD', stem .. state, int(now), task)  -- first: without memory it refuses before anything is changed
    if before and before ~= state then redis.call('ZREM', stem .. before, task) end
    if ended == '1' and redis.call('TTL', stem .. state) < seconds - 3600 then -- not with each task
      redis.call('ZREMRANGEBYSCORE', stem .. state, '-inf', int(now - tonumber(seconds) * 1000000))
      redis.call('EXPIRE', stem .. state, seconds)
    end
  end
end

-- A tenant's free slots go to those who have waited longest, each kept for its session until a lost wake has been made
-- good; those of dead processes are free. The reply: who got one, again if the reply before was lost.
local function pass_slots(running, queue, cap, kept_ms)
  local now = now_ms()
  redis.call('ZREMRANGEBYSCORE', running, '-inf', int(now))
  local free = cap - redis.call('ZCARD', running)
  local passed = free > 0 and redis.call('ZRANGE', queue, 0, int(free - 1)) or {}
  for _, session in ipairs(passed) do
    redis.call('ZREM', queue, session)
    redis.call('ZADD', running, int(now + kept_ms), session)
    redis.call('PEXPIRE', running, 10 * kept_ms)
  end
  return again and redis.call('ZRANGEBYSCORE', running, int(now + kept_ms / 2), '+inf') or passed
end

-- Why a tenant is stopped; '' if it is not. The key holds a version, a newline and the reason.
local function stop_reason(key)
  return string.match(redis.call('GET', key) or '', '\n(.*)$') or ''
end

-- The first signal that is heeded even while the tenant is stopped: a cancel. All others are marked as waiting.
local function first_cancel(signals, begun)
  for _, id in ipairs(redis.call('LRANGE', signals, 0, -1)) do
    if redis.call('HEXISTS', begun, id .. ':waits') == 0 then return id end
  end
  return false
end

-- What a running turn is told with every answer: the time, why its tenant is stopped ('' if it is not), and the signals
-- that wait in its session.
local function pulse(signals, turns, reason)
  local reply = {'ok', int(now_us()), reason}
  for _, id in ipairs(redis.call('LRANGE', signals, 0, -1)) do
    reply[#reply + 1] = redis.call('HGET', turns, id) or ''
  end
  return reply
end

-- A session whose lease is given back and that has no open task falls idle, and leaves after its retention. The set of
-- those that are idle is given its time again once a tenth of it has passed: each such command stands in the log.
local function expire_if_idle(open, session, lease, retention, idle, member)
  if redis.call('SCARD', open) == 0 then
    redis.call('EXPIRE', session, retention, 'NX')
    redis.call('EXPIRE', lease, retention, 'NX')
    if redis.call('HEXISTS', session, 'state') == 1 then
      redis.call('ZADD', idle, int(now_ms()), member)
      if redis.call('TTL', idle) < 0.9 * retention then redis.call('EXPIRE', idle, retention) end
    end
  end
end

-- When a waiting session is to be looked at again, as a score of the set of those that wait. The half says that this
-- was meant: whoever is due then was not forgotten by anybody.
local function put_off_score(ms)
  return int(now_ms() + tonumber(ms)) .. '.5'
end

-- The turn that is to be begun next: signals first; while the tenant is stopped (for a ``reason``), only cancels.
local function next_turn(signals, inbox, begun, reason)
  if reason ~= '' then return first_cancel(signals, begun) end
  return redis.call('LINDEX', signals, 0) or redis.call('LINDEX', inbox, 0)
end

local function has_turns(inbox, signals)
  return redis.call('LLEN', inbox) + redis.call('LLEN', signals) > 0
end

-- Give a lease back under which nothing is to be begun now; if ``waits``, the session is looked at again in a while.
local function release_lease(lease, waits, waiting, leased, session, open, idle, member, later_ms, retention)
  redis.call('HDEL', lease, 'owner', 'until')
  redis.call('ZREM', leased, member)
  if waits then
    redis.call('ZADD', waiting, put_off_score(later_ms), member)
  else
    expire_if_idle(open, session, lease, retention, idle, member)
  end
end

-- Whether a session has nothing to do: no open task, so no approval, timer or doubt; no turn, and nobody who runs one.
local function is_idle(open, inbox, signals, lease)
  return redis.call('SCARD', open) == 0 and not has_turns(inbox, signals) and redis.call('HEXISTS', lease, 'owner') == 0
end

-- One of a session's turns leaves it; what is known of its beginning goes with it. Where no other waits, all leave at
-- once, and the reply is true.
local function end_turn(inbox, signals, turns, begun, turn_id)
  if redis.call('HLEN', turns) == 1 then
    redis.call('DEL', inbox, turns, begun)
    redis.call('DEL', signals)  -- mostly there are none, and then this is not logged
    return true
  end
  redis.call('LREM', inbox, 1, turn_id)
  redis.call('LREM', signals, 1, turn_id)
  redis.call('HDEL', turns, turn_id)
  redis.call('HDEL', begun, turn_id, turn_id .. ':at', turn_id .. ':error', turn_id .. ':waits', turn_id .. ':of', 'now')
end

-- A session with work is in exactly one of the two sets: waiting, or leased.
local function add_to_waiting(waiting, leased, member)
  if not redis.call('ZSCORE', leased, member) then
    redis.call('ZADD', waiting, 'NX', int(now_ms()), member)
  end
end

-- An approval waits: its tenant's inbox has it, and its id leads to its task. ``asked`` is the inbox, ``task`` the task as
-- a member of sets; the key of the id is named after the inbox and lies in its slot.
local function approval_key(asked, id)
  return (string.gsub(asked, ':asked:', ':approval:', 1)) .. ':' .. id
end

-- Those of all tenants in one partition, by when they were asked; in the slot of the inbox, too.
local function asking_key(asked)
  return string.match(asked, '^pa:{p%d+}:') .. 'asking'
end

-- Likewise the tasks that wait for an operator's word on a write.
local function doubting_key(asked)
  return string.match(asked, '^pa:{p%d+}:') .. 'doubting'
end

local function add_question(asked, id, task, due)
  redis.call('ZADD', asked, due, id .. ':' .. task)
  redis.call('ZADD', asking_key(asked), 'NX', int(now_ms()), id .. ':' .. task)
  redis.call('SET', approval_key(asked, id), task)
end

-- An approval is asked no more. Its id still leads to its task, for whoever answers late.
local function remove_question(asked, id, task, seconds)
  redis.call('ZREM', asked, id .. ':' .. task)
  redis.call('ZREM', asking_key(asked), id .. ':' .. task)
  redis.call('EXPIRE', approval_key(asked, id), seconds)
end

-- Count in a tenant's day what calls did cost, four arguments each: name, tokens, nanos, and '1' where that was set aside
-- before. What a call did cost takes the place of what was set aside for it: with a reservation it counts once, however
-- often it is told; without one it does not count if the step is ``repeated``.
-- ``wanted``: the next call's name, tokens and nanos, which are set aside if they fit under the day's caps (I11) with all
-- that is spent and set aside; 0 if they do not.
local function settle_and_reserve(spend, kept, wanted, first, last, repeated)
  local FIELDS, SUMS = {'tokens', 'nanos', 'calls', 'reserved_tokens', 'reserved_nanos'}, 5
  for i = first, last, 4 do FIELDS[#FIELDS + 1] = 'r:' .. ARGV[i] end
  local stored, sums, over, gone, is_new = redis.call('HMGET', spend, unpack(FIELDS)), {}, {}, {}, true
  for i = 1, SUMS do
    is_new = is_new and not stored[i]
    stored[i] = tonumber(stored[i] or '0')
    sums[FIELDS[i]] = stored[i]
  end
  local function add(field, amount) sums[field] = sums[field] + tonumber(amount) end

  for n = SUMS + 1, #FIELDS do
    local call = FIELDS[n]
    local aside = not over[call] and stored[n]
    local tokens, nanos, reserved = unpack(ARGV, first + 4 * (n - SUMS) - 3, first + 4 * (n - SUMS) - 1)
    if aside then
      local set_aside = {string.match(aside, '^(%d+) (%d+)$')}
      over[call] = true
      add('reserved_tokens', 0 - set_aside[1])
      add('reserved_nanos', 0 - set_aside[2])
    end
    if aside or not (reserved == '1' or repeated) then
      add('tokens', tokens)
      add('nanos', nanos)
      add('calls', 1)
    end
  end

  local fits, row, aside = 1, {}, wanted and 'r:' .. wanted[1]
  local function has_room(spent, more, most) return tonumber(most) < 0 or spent + tonumber(more) <= tonumber(most) end
  if aside and not over[aside] and redis.call('HEXISTS', spend, aside) == 1 then aside = false end
  if aside and not (has_room(sums.tokens + sums.reserved_tokens, wanted[2], wanted[4])
    and has_room(sums.nanos + sums.reserved_nanos, wanted[3], wanted[5])) then
    fits, aside = 0, false
  end
  if aside then
    add('reserved_tokens', wanted[2])
    add('reserved_nanos', wanted[3])
    row = {aside, wanted[2] .. ' ' .. wanted[3]}
  end

  -- All that changes is written at once: a command in the log costs more than what it says.
  for i = 1, SUMS do
    local field = FIELDS[i]
    if sums[field] ~= stored[i] then row[#row + 1], row[#row + 2] = field, int(sums[field]) end
  end
  for call in pairs(over) do
    if call ~= aside then gone[#gone + 1] = call end
  end
  if #gone > 0 then redis.call('HDEL', spend, unpack(gone)) end
  if #row > 0 then redis.call('HSET', spend, unpack(row)) end
  if is_new then redis.call('EXPIRE', spend, kept) end
  return fits
end
