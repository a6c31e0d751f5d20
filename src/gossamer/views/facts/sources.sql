-- create_records: Where the facts of one page are, packed by `extract.places`; the id is that of its graph's name.
CREATE TABLE IF NOT EXISTS records (
    id INTEGER PRIMARY KEY,
    capture INTEGER NOT NULL,
    record BLOB NOT NULL
);

-- put_record: Replace a page's record by that of another capture.
INSERT INTO records (id, capture, record) VALUES (:id, :capture, :record)
ON CONFLICT (id) DO UPDATE SET capture = excluded.capture, record = excluded.record;

-- drop_record: Forget a page.
DELETE FROM records WHERE id = :id;

-- record_of: A page's record, if it is of this capture.
SELECT record FROM records WHERE id = :id AND capture = :capture;

-- every_record: All records, for a check.
SELECT record FROM records;
