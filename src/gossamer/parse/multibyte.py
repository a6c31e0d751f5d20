"""Characters that WHATWG Encoding has in EUC-JP, ISO-2022-JP and Big5, and Python's codecs lack.

Each set is an error handler of the codec. Where Python has another character in the same place (a wave dash for a
full-width tilde), Python's stays: it is the one of the national standard.
"""

import codecs

# Big5: the code of the first character and the characters from there on (HKSCS-2008, ETEN, the euro).
_BIG5_RUNS = (
    "877A㡵 877E㻬 87A2㫵竼龗 87AA䌊蒄龖鐯䤰蘓墖靊鈘秐稲晠権袝瑌篅枂稬剏遆㓦珄 87C1瓆鿇垳䤯呌䄱 87C8堘穲 87CB讏䚮 "
    "87CE䆁 87D0箮 87D2鿈 87D6鿉蔄 87D9䂴鿊䓡 87DD拁灮鿋 8E69箸 8E6F簆 8E7E糎 8EAB緒 8EB4縝 8ECD者 8ED0耨 8F57菁 "
    "8F69蒨 8F6E萏 8FCB覦覩 8FFE起 906D都 907A銹 90DC靜 90F1響 91BF鼖 92AF兙兛兝兞 92C8鍮 92D1瑹 9447浧 94CA禛 "
    "95D9邗 9644靝 96ED瀞 96FC嬨 9B76爁 9B78矗 9B7B纇 9BC6駖 9BDE釔 9BEC惞 9BF6澶 9C42輶 9C53侻 9C62營 9C68鄄 "
    "9C6B鷰 9C77菏 9CBC尐秣 9CD0婧 9D57輋 9D5A筑 9DC4拐 9EA9恢 9EEF痹 9EFD汊 9F60鬮 9FCB僭 A077拎 A0DF煢 A3E0␡€ "
    "C6CF廴 C6D3无 C6D5癶 C6D7隶 C6DF仝 FB48嘅 FBF9廐 FC6C悤 FE52猪"
)
_BIG5 = {0xA3C0 + at: chr(0x2400 + at) for at in range(32)} | {
    int(run[:4], 16) + at: character for run in _BIG5_RUNS.split() for at, character in enumerate(run[4:])
}


def _big5(fault: UnicodeError) -> tuple[str, int]:
    assert isinstance(fault, UnicodeDecodeError)
    found = _BIG5.get(int.from_bytes(fault.object[fault.start : fault.start + 2], "big"))
    return (found, fault.start + 2) if found else ("\ufffd", fault.end)


def _jis(fault: UnicodeError) -> tuple[str, int]:
    """NEC's and IBM's additions to JIS X 0208: the Shift_JIS codec has them, at the place that row and cell give."""
    assert isinstance(fault, UnicodeDecodeError)
    lowest = 0xA0 if fault.encoding == "euc_jp" else 0x20
    pair = fault.object[fault.start : fault.start + 2]
    row, cell = (byte - lowest for byte in pair) if len(pair) == 2 else (0, 0)
    if not (1 <= row <= 94 and 1 <= cell <= 94):
        return "\ufffd", fault.end
    lead = (row + 1) // 2 + (0x80 if row <= 62 else 0xC0)
    trail = cell + 0x9E if row % 2 == 0 else cell + 0x3F + (cell >= 64)
    found = bytes((lead, trail)).decode("cp932", "ignore")
    return (found, fault.start + 2) if found else ("\ufffd", fault.end)


codecs.register_error("gossamer.big5", _big5)
codecs.register_error("gossamer.jis", _jis)
HANDLERS = {"euc-jp": "gossamer.jis", "iso-2022-jp": "gossamer.jis", "big5": "gossamer.big5"}
"""The error handler to decode each of these encodings with."""
