--- gamewarden: what AzerothCore does not log, as rows of gw_events in the characters database (mod-ale, Eluna).
-- ../README.md says how to install it, what it costs and what it does not see; ../tables.sql makes the table.

local BATCH = 100 -- rows of one INSERT
local WAIT = 5000 -- milliseconds after which fewer rows are written, too
local LOOK = 10 -- seconds between two looks at where a player stands; 0: no `move`

-- PlayerEvents and ServerEvents of mod-ale
local LOGIN, LOGOUT, KILL_PLAYER, KILL_CREATURE, KILLED_BY_CREATURE = 3, 4, 6, 7, 8
local LEVEL_CHANGE, UPDATE_ZONE, LOOT_ITEM, LOOT_MONEY, PET_KILL = 13, 27, 32, 37, 58
local SHUTDOWN, STATE_CLOSE = 15, 16

local INSERT = "INSERT INTO `gw_events` (`at`,`actor`,`character`,`kind`,`zone`,`x`,`y`,`level`,`target`,`item`,`amount`,`other`,`ip`) VALUES "
local rows, first, places, second, ahead = {}, 0, {}, 0, 0

-- Lua's clock has seconds only: the milliseconds within one are those of the server's tick.
local function now()
  local tick, clock = GetCurrTime(), os.time() * 1000
  ahead = math.min(math.max(ahead, clock - tick), clock + 999 - tick)
  return tick + ahead
end

local HOSTILE = { ["\0"] = "\\0", ["\n"] = "\\n", ["\r"] = "\\r", ["\26"] = "\\Z", ["'"] = "\\'", ['"'] = '\\"', ["\\"] = "\\\\" }

local function text(value)
  if value == nil then return "NULL" end
  return "'" .. tostring(value):gsub("[%z\n\r\26'\"\\]", HOSTILE) .. "'"
end

local function number(value)
  if value == nil then return "NULL" end
  return string.format("%.0f", value)
end

-- Written by another thread of the server: the game does not wait. What cannot be written is lost, and its log says why.
local function write()
  if #rows == 0 then return end
  local values = table.concat(rows, ",")
  rows = {}
  CharDBExecute(INSERT .. values)
end

local function note(player, kind, more)
  more = more or {}
  local at = now()
  if #rows == 0 then first = at end
  rows[#rows + 1] = "(" .. table.concat({
    number(at), number(player:GetAccountId()), number(player:GetGUIDLow()), text(kind),
    text(more.zone or player:GetZoneId()), string.format("%.1f,%.1f", player:GetX(), player:GetY()),
    number(player:GetLevel()), text(more.target), text(more.item), number(more.amount), number(more.other), text(more.ip),
  }, ",") .. ")"
  if #rows >= BATCH then write() end
end

local function moved(player)
  local guid, place = player:GetGUIDLow(), string.format("%d,%.1f,%.1f", player:GetMapId(), player:GetX(), player:GetY())
  if places[guid] and places[guid] ~= place then note(player, "move") end
  places[guid] = place
end

-- Each second a part of the players is looked at, so that no tick of the world has to look at all of them.
local function look()
  second = (second + 1) % LOOK
  for _, player in ipairs(GetPlayersInWorld()) do
    if player:GetGUIDLow() % LOOK == second then moved(player) end
  end
end

local function each_second()
  if LOOK > 0 then look() end
  if #rows > 0 and now() - first >= WAIT then write() end
end

local function killed(_, player, creature) note(player, "combat.kill", { target = creature:GetEntry() }) end

RegisterPlayerEvent(LOGIN, function(_, player) note(player, "session.login", { ip = player:GetPlayerIP() }) end)
RegisterPlayerEvent(LOGOUT, function(_, player)
  note(player, "session.logout")
  places[player:GetGUIDLow()] = nil
end)
RegisterPlayerEvent(KILL_CREATURE, killed)
pcall(RegisterPlayerEvent, PET_KILL, killed) -- a server without this event says so, and the rest works
RegisterPlayerEvent(KILL_PLAYER, function(_, player, other)
  note(player, "combat.kill", { other = other:GetAccountId() })
  note(other, "combat.death", { other = player:GetAccountId() })
end)
RegisterPlayerEvent(KILLED_BY_CREATURE, function(_, creature, player)
  note(player, "combat.death", { target = creature:GetEntry() })
end)
RegisterPlayerEvent(LEVEL_CHANGE, function(_, player, before)
  if player:GetLevel() > before then note(player, "level.up") end
end)
RegisterPlayerEvent(UPDATE_ZONE, function(_, player, zone) note(player, "zone.enter", { zone = zone }) end)
RegisterPlayerEvent(LOOT_ITEM, function(_, player, item, count)
  note(player, "loot.pickup", { item = item:GetEntry(), amount = count })
end)
RegisterPlayerEvent(LOOT_MONEY, function(_, player, copper) note(player, "currency.gain", { amount = copper }) end)
RegisterServerEvent(SHUTDOWN, write)
RegisterServerEvent(STATE_CLOSE, write)
CreateLuaEvent(each_second, 1000, 0)
