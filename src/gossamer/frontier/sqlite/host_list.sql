-- some: Hosts whose name holds a text and that are in a state, in some order, from a position on. The states are those of
-- a crawl that runs, or of one that does not.
WITH told AS (
    SELECT id, name, least_gap, broken,
        CASE
            WHEN retired_at IS NOT NULL THEN 'retired'
            WHEN leased AND :is_crawling THEN 'under-way'
            WHEN NOT queued THEN 'done'
            WHEN next_at > :now AND troubles THEN 'backing-off'
            WHEN next_at > :now THEN 'waiting'
            WHEN band = :last_band THEN 'over-budget'
            WHEN ready_at > :now THEN 'waiting'
            ELSE 'ready'
        END AS state,
        CASE :sort
            WHEN 'queued' THEN -queued WHEN 'visits' THEN -visits WHEN 'troubles' THEN -troubles
            WHEN 'gap' THEN -gap WHEN 'held' THEN -held WHEN 'next' THEN next_at ELSE 0
        END AS rank
    FROM hosts WHERE :text = '' OR instr(name, :text) > 0
)
SELECT rank, name, id, least_gap, broken, state FROM told
WHERE (:state = '' OR state = :state) AND (rank, name) > (:rank, :after)
ORDER BY rank, name LIMIT :most;

-- states: How many hosts are in each state.
SELECT
    CASE
        WHEN retired_at IS NOT NULL THEN 'retired'
        WHEN leased AND :is_crawling THEN 'under-way'
        WHEN NOT queued THEN 'done'
        WHEN next_at > :now AND troubles THEN 'backing-off'
        WHEN next_at > :now THEN 'waiting'
        WHEN band = :last_band THEN 'over-budget'
        WHEN ready_at > :now THEN 'waiting'
        ELSE 'ready'
    END AS state, count(*)
FROM hosts GROUP BY 1;

-- robots: What was last known of a host's robots.txt files.
SELECT entry FROM robots WHERE host_id = ? ORDER BY lane;
