-- What is due in one partition, with since when, the oldest first and of each tenant only so many, so that one tenant's
-- crowd hides nobody else's: of a crowd that is larger than the window, the first page and what follows the given place.
-- Before it, in how many milliseconds the next will be (-1: nothing waits), and the place for the next look. Reads only.
local deliveries = unpack(KEYS)
local most, each, page, window, place = unpack(ARGV)

if redis.call('EXISTS', deliveries) == 0 then return {'-1', '0'} end
local now, reply, counts, first, seen, over = int(now_ms()), {}, {}, 0, 0, false
repeat
  local rows = redis.call('ZRANGE', deliveries, first, first + page - 1, 'WITHSCORES')
  over = #rows < 2 * page
  for i = 1, #rows, 2 do
    if rows[i + 1] - now > 0 then over = true break end
    local tenant = string.match(rows[i], '^[^:]*')
    counts[tenant] = (counts[tenant] or 0) + 1
    if counts[tenant] <= tonumber(each) and #reply < 2 * most then
      reply[#reply + 1], reply[#reply + 2] = rows[i], rows[i + 1]
    end
  end
  first = first == 0 and math.max(page, place) or first + page
  seen = seen + page
until over or #reply >= 2 * most or seen >= tonumber(window)
local later = redis.call('ZRANGEBYSCORE', deliveries, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
table.insert(reply, 1, later[2] and int(later[2] - now) or '-1')
table.insert(reply, 2, over and '0' or int(first))
return reply
