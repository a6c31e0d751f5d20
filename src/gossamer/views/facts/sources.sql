-- create_records: Where the facts of one page stand, as `extract.places` packs it; the id is that of its graph's name.
CREATE TABLE IF NOT EXISTS records (
    id INTEGER PRIMARY KEY,
    capture INTEGER NOT NULL,
    record BLOB NOT NULL
);

-- put_record: The record of a page's capture, in the place of that of an earlier one.
INSERT INTO records (id, capture, record) VALUES (:id, :capture, :record)
ON CONFLICT (id) DO UPDATE SET capture = excluded.capture, record = excluded.record;

-- drop_record: Forget a page.
DELETE FROM records WHERE id = :id;

-- record_of: What is held of a page, when it is of this capture.
SELECT record FROM records WHERE id = :id AND capture = :capture;

-- every_record: For a check of them all.
SELECT record FROM records;
