"""The accounts of an rAthena server in a database that is here: its names of columns, and a count of all changes."""

from sqlalchemy import create_engine, text

ACCOUNTS = [
    (1, "s1", "S"),
    (2000000, "ann", "F"),
    (2000001, "bob", "M"),
    (2000002, "ANN", "M"),
    (2000003, "-x'\"\\", "M"),
]
_LOGIN = """CREATE TABLE login (
  account_id {serial}, userid varchar(23) {like} NOT NULL DEFAULT '', user_pass varchar(32) NOT NULL DEFAULT '',
  sex char(1) NOT NULL DEFAULT 'M', email varchar(39) NOT NULL DEFAULT '', group_id smallint NOT NULL DEFAULT 0,
  state bigint NOT NULL DEFAULT 0, unban_time bigint NOT NULL DEFAULT 0, expiration_time bigint NOT NULL DEFAULT 0,
  logincount integer NOT NULL DEFAULT 0, last_ip varchar(100) NOT NULL DEFAULT '')"""
_SQLITE = "CREATE TRIGGER counted AFTER UPDATE ON login BEGIN INSERT INTO changes VALUES (new.account_id); END"
_COUNTS = "'BEGIN INSERT INTO changes VALUES (new.account_id); RETURN new; END'"
_POSTGRES = (
    f"CREATE FUNCTION counting() RETURNS trigger LANGUAGE plpgsql AS {_COUNTS}",
    "CREATE TRIGGER counted AFTER UPDATE ON login FOR EACH ROW EXECUTE FUNCTION counting()",
)


class Server:
    """An rAthena server's accounts."""

    def __init__(self, url: str) -> None:
        self.url, self.engine = url, create_engine(url)

    @classmethod
    def new(cls, url: str) -> "Server":
        one = cls(url)
        lite = one.engine.dialect.name == "sqlite"
        with one.engine.begin() as connection:
            kinds = {"serial": "integer PRIMARY KEY" if lite else "bigint PRIMARY KEY"}
            # MariaDB takes ANN for ann, as SQLite does when it is told so.
            connection.execute(text(_LOGIN.format(**kinds, like="COLLATE NOCASE" if lite else "")))
            connection.execute(text("CREATE TABLE changes (account_id bigint)"))
            for statement in (_SQLITE,) if lite else _POSTGRES:
                connection.execute(text(statement))
            for number, name, sex in ACCOUNTS:
                values = {"number": number, "name": name, "sex": sex}
                connection.execute(
                    text("INSERT INTO login (account_id, userid, sex) VALUES (:number, :name, :sex)"), values
                )
        return one

    def set(self, number: int, **values: int) -> None:
        with self.engine.begin() as connection:
            for name, value in values.items():
                connection.execute(
                    text(f"UPDATE login SET {name} = :value WHERE account_id = :number"),  # noqa: S608  our own names
                    {"value": value, "number": number},
                )
            connection.execute(text("DELETE FROM changes"))

    def of(self, number: int) -> tuple[int, int]:
        with self.engine.connect() as connection:
            found = connection.execute(text("SELECT state, unban_time FROM login WHERE account_id = :n"), {"n": number})
            return tuple(found.one())

    def changes(self) -> int:
        with self.engine.connect() as connection:
            return connection.execute(text("SELECT count(*) FROM changes")).scalar()
