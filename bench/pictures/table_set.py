"""The sixteen tables of the test set."""

from functools import partial

from bench.pictures.bars import MONTHS
from bench.pictures.tables import PLAIN, Table, marks, numbers, people, sheet, standings, trains, written

CLUBS = ("Rovers", "United", "City", "Athletic", "Wanderers", "Rangers", "Albion", "Town", "County", "Harriers")
STOPS = ("Central", "Old Mill", "Harbour", "Park Road", "Zoo", "Stadium", "Airport", "East Hill", "Terminus")
MENU = (
    ("Dish", "Small", "Large"),
    ("Tomato soup", "4.50", "6.90"),
    ("Green salad", "5.20", "8.40"),
    ("Mushroom risotto", "9.80", "13.50"),
    ("Fish of the day", "14.00", "19.50"),
    ("Apple pie", "4.20", "6.00"),
    ("Espresso", "2.10", "2.90"),
)
FOOD = (
    ("Nutrition facts", "per 100 g", "per serving"),
    ("Energy", "1 580 kJ", "632 kJ"),
    ("Fat", "12.0 g", "4.8 g"),
    ("of which saturates", "3.1 g", "1.2 g"),
    ("Carbohydrate", "58.0 g", "23.2 g"),
    ("of which sugars", "21.0 g", "8.4 g"),
    ("Fibre", "7.5 g", "3.0 g"),
    ("Protein", "9.4 g", "3.8 g"),
    ("Salt", "0.4 g", "0.2 g"),
)
LESSONS = (
    ("", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
    ("8:00", "Maths", "English", "History", "Maths", "Art"),
    ("9:00", "Physics", "Maths", "English", "French", "Art"),
    ("10:15", "French", "Sport", "Biology", "English", "Maths"),
    ("11:15", "History", "Sport", "Physics", "Music", "Biology"),
    ("13:00", "Music", "French", "\u2013", "Physics", "\u2013"),
)
ACCOUNTS = (
    ("in thousand euros", "2025", "2024"),
    ("Revenue", "48 210", "44 875"),
    ("Cost of sales", "(21 340)", "(20 118)"),
    ("Gross profit", "26 870", "24 757"),
    ("Distribution", "(4 405)", "(4 210)"),
    ("Administration", "(7 962)", "(7 544)"),
    ("Research", "(5 120)", "(4 006)"),
    ("Operating profit", "9 383", "8 997"),
    ("Interest", "(612)", "(704)"),
    ("Taxes", "(2 190)", "(2 071)"),
    ("Profit for the year", "6 581", "6 222"),
)
PAPER = (
    ("Method", "Accuracy", "F1", "Params (M)"),
    ("Majority", "51.2 ± 0.0", "33.9", "0"),
    ("Logistic reg.", "74.6 ± 0.3", "73.8", "0.1"),
    ("BiLSTM", "81.9 ± 0.6", "81.2", "6.4"),
    ("Transformer", "88.3 ± 0.4", "87.9", "110"),
    ("Ours (small)", "88.7 ± 0.2", "88.4", "22"),
    ("Ours", "91.5 ± 0.3", "91.1", "110"),
)
SIZES = (
    ("Size", "Chest", "Waist", "Hips"),
    ("S", "88", "72", "92"),
    ("M", "96", "80", "100"),
    ("L", "104", "88", "108"),
)
INVOICE = (
    ("Pos", "Beschreibung", "Menge", "Einzelpreis", "Betrag"),
    ("1", "Beratung vor Ort", "6", "95,00 €", "570,00 €"),
    ("2", "Anfahrt", "2", "40,00 €", "80,00 €"),
    ("3", "Wartung der Anlage", "1", "310,00 €", "310,00 €"),
    ("4", "Ersatzfilter", "4", "18,50 €", "74,00 €"),
    ("", "Zwischensumme", "", "", "1 034,00 €"),
    ("", "USt. 19 %", "", "", "196,46 €"),
    ("", "Gesamt", "", "", "1 230,46 €"),
)

SHEET = """main{background:#fff;padding:0!important;font:14px Carlito}table{border-collapse:collapse;table-layout:fixed}
td,th{border:1px solid #d4d4d4;height:20px;padding:1px 6px}
th,tr td:first-child{background:#e6e6e6;color:#444;font-weight:normal;text-align:center}th:first-child{width:34px}
tr:nth-child(2) td:not(:first-child){font-weight:bold;background:#c6e0b4}"""
ZEBRA = """main{background:#fff;font:15px Roboto}table{border-collapse:collapse}td,th{padding:8px 12px}
th{background:#37474f;color:#fff;text-align:left}tr:nth-child(odd) td{background:#eceff1}"""
BOOK = """main{background:#fff;font:16px Liberation Serif}table{border-collapse:collapse;border-top:2px solid;
border-bottom:2px solid}th{border-bottom:1px solid;text-align:left;font-weight:normal}td,th{padding:4px 12px}
caption{padding-bottom:8px;text-align:left}tr:last-child td{font-weight:bold}"""
NIGHT = """main{background:#16181d;color:#d7dae0;font:14px Open Sans}table{border-collapse:collapse}
td,th{padding:9px 12px;border-bottom:1px solid #2c313a}th{color:#8b93a1;text-align:left;font-size:12px}"""
BANK = """main{background:#fff;font:15px Liberation Sans}table{border-collapse:collapse}td{padding:5px 8px}
th{text-align:right;padding:5px 8px;border-bottom:2px solid #1a4a7a;color:#1a4a7a}th:first-child{text-align:left}
tr:nth-child(4) td,tr:nth-child(8) td,tr:last-child td{font-weight:bold;border-top:1px solid #1a4a7a;
background:#eaf1f8}"""
LEAGUE = """main{background:#f4f6f4;font:15px Roboto}table{border-collapse:collapse;background:#fff}
td,th{padding:7px 10px;text-align:center}td:nth-child(2),th:nth-child(2){text-align:left;font-weight:bold}
th{background:#1b5e20;color:#fff}tr{border-bottom:1px solid #dfe5df}
tr:nth-child(-n+5) td:first-child{background:#c8e6c9}"""
MENUS = """main{background:#fbf3e4;color:#4a2c17;font:19px Liberation Serif}table{border-collapse:collapse}
td,th{padding:9px;border-bottom:1px dotted #a67c52}th{text-align:right;font-style:italic}th:first-child{text-align:left}
caption{font-size:30px;padding:8px}"""
LABEL = """main{background:#fff;font:bold 15px Liberation Sans Narrow}
table{border-collapse:collapse;border:3px solid #000}
td,th{border-top:1px solid #000;padding:4px 8px;text-align:right}td:first-child,th:first-child{text-align:left}
th{background:#000;color:#fff}"""
LESSON = """main{background:#fff;font:15px Lato}table{border-collapse:separate;border-spacing:4px}
td,th{padding:10px 6px;text-align:center!important;border-radius:5px}th{background:#5e60ce;color:#fff}
td{background:#e4e4fb}td:first-child{background:#fff;color:#666}"""
CARD = """main{background:#eef1f6;font:14px Open Sans}table{border-collapse:collapse;background:#fff;border-radius:10px;
overflow:hidden}td,th{padding:10px 14px;border-bottom:1px solid #eef1f6;text-align:center}
th{background:#f8f9fc;color:#5a6478}
td:first-child,th:first-child{text-align:left}"""
WORD = """main{background:#fff;font:15px Carlito}table{border-collapse:collapse}
td,th{border:1px solid #8eaadb;padding:5px 9px}
th{background:#4472c4;color:#fff;text-align:left}tr:nth-child(odd) td{background:#d9e2f3}
td:first-child{font-weight:bold}"""
RAIL = """main{background:#fff;font:14px Liberation Sans}table{border-collapse:collapse}
td,th{border-left:1px solid #999;padding:4px 7px;text-align:center}
td:first-child,th:first-child{text-align:left;border:0;
font-weight:bold}th{background:#ffd400}tr:nth-child(even) td{background:#f3f3f3}"""
BILL = """main{background:#fff;font:14px Liberation Sans}table{border-collapse:collapse}td,th{padding:7px}
th{border-bottom:2px solid #333;text-align:left}tr{border-bottom:1px solid #ddd}tr:last-child td{font-weight:bold;
border-top:2px solid #333}"""
TERMINAL = "main{background:#fff;font:15px Liberation Mono}" + PLAIN
OFFICE = "main{background:#fff;font:16px Liberation Serif}th{background:#d9d9d9}" + PLAIN
STATS = """main{background:#fffdf7;font:13px DejaVu Sans}table{border-collapse:collapse}caption{font-weight:bold;
padding:6px;text-align:left}td,th{border:1px solid #c9bfa5;padding:4px 6px}th{background:#efe6cf}"""

TABLES = (
    Table(
        partial(numbers, corner="Region", names=("North", "South", "East", "West"), heads=("Q1", "Q2", "Q3", "Q4")),
        OFFICE,
    ),
    Table(sheet, SHEET, width=560),
    Table(partial(people, count=12), ZEBRA, width=680),
    Table(partial(written, rows=PAPER), BOOK, "Table 2. Results on the test set, mean of five runs.", 560),
    Table(
        partial(
            numbers,
            corner="Server",
            names=("web-1", "web-2", "db-1", "db-2", "cache-1", "queue-1", "mail-1"),
            heads=("CPU %", "Memory %", "Disk %", "Load"),
            form="{:.1f}",
            top=99,
        ),
        NIGHT,
    ),
    Table(partial(written, rows=ACCOUNTS), BANK, width=560),
    Table(partial(standings, clubs=CLUBS), LEAGUE, width=560),
    Table(partial(written, rows=MENU), MENUS, "Menu", 520),
    Table(partial(written, rows=FOOD), LABEL, width=420),
    Table(partial(written, rows=LESSONS), LESSON, width=680),
    Table(
        partial(
            marks,
            features=(
                "Storage",
                "Offline mode",
                "Sharing",
                "Version history",
                "Single sign-on",
                "Audit log",
                "Phone support",
            ),
            plans=("Free", "Team", "Business"),
        ),
        CARD,
    ),
    Table(
        partial(
            numbers,
            corner="Product",
            names=("Tea", "Coffee", "Cocoa", "Juice", "Water", "Milk"),
            heads=("Units", "Price", "Revenue"),
            form="{:,.2f}",
        ),
        WORD,
        width=500,
    ),
    Table(partial(trains, stops=STOPS, runs=8), RAIL, width=740),
    Table(partial(written, rows=INVOICE), BILL, width=600),
    Table(partial(written, rows=SIZES), TERMINAL, width=420),
    Table(
        partial(
            numbers,
            corner="Year",
            names=tuple(str(year) for year in range(2005, 2026)),
            heads=MONTHS,
            form="{:.1f}",
            top=31,
        ),
        STATS,
        "Readings by month, °C",
        820,
    ),
)
