"""Makes the demo model's conversations from small tables of facts and phrases written for it.

`conversation(random)` returns messages of one to three exchanges; the same generator state gives
the same conversation. Some last answers carry a line of reasoning, for the thinking mode.
"""

CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Spain": "Madrid", "Italy": "Rome", "Japan": "Tokyo",
    "China": "Beijing", "Russia": "Moscow", "Portugal": "Lisbon", "Austria": "Vienna",
    "Greece": "Athens", "Poland": "Warsaw", "Norway": "Oslo", "Sweden": "Stockholm",
    "Finland": "Helsinki", "Denmark": "Copenhagen", "Ireland": "Dublin", "Hungary": "Budapest",
    "Egypt": "Cairo", "Canada": "Ottawa", "Cuba": "Havana", "Peru": "Lima", "Chile": "Santiago",
    "England": "London", "Kenya": "Nairobi", "India": "New Delhi", "Iceland": "Reykjavik",
}
COMMANDS = {
    "ls": "lists the files in a directory", "cd": "changes the current directory",
    "cp": "copies files", "mv": "moves or renames files", "rm": "removes files",
    "mkdir": "makes a new directory", "cat": "prints the content of files",
    "grep": "searches text for lines that match a pattern", "find": "searches for files",
    "chmod": "changes the permissions of a file", "chown": "changes the owner of a file",
    "ps": "shows the running processes", "kill": "sends a signal to a process",
    "df": "shows the free disk space", "du": "shows how much space files use",
    "tar": "packs files into an archive", "gzip": "compresses files",
    "ssh": "opens a shell on another machine", "man": "shows the manual page of a command",
    "apt": "installs and removes packages", "dpkg": "installs a package file",
    "sort": "sorts lines of text", "head": "prints the first lines of a file",
    "tail": "prints the last lines of a file", "pwd": "prints the current directory",
    "mount": "attaches a file system", "echo": "prints its arguments",
    "wc": "counts lines, words and bytes", "date": "prints the date and the time",
    "sudo": "runs a command as another user", "diff": "compares two files",
}
DEFINITIONS = {
    "a kernel": "the part of an operating system that manages memory, processes and devices",
    "a package": "a file that holds a program and says what it needs",
    "a file system": "the way in which files are stored on a disk",
    "a compiler": "a program that turns source code into machine code",
    "a shell": "a program that reads commands and runs them",
    "a process": "a program that is running", "a directory": "a place that holds files",
    "a function": "a piece of code that has a name and can be called",
    "a variable": "a name for a value", "a loop": "code that runs again and again",
    "a list": "a sequence of values", "a string": "a sequence of characters",
    "a database": "an ordered store of data", "a server": "a program that answers requests",
    "a network": "a group of computers that are connected",
    "a pointer": "a value that holds the address of another value",
    "an expert": "a small part of this model that handles some of the tokens",
    "a token": "a piece of text that a language model reads or writes",
    "a router": "the part of this model that chooses the experts for each token",
    "Debian": "a free operating system made by volunteers",
    "Linux": "a kernel that many operating systems use",
    "Python": "a programming language that is easy to read",
    "C": "a programming language that is close to the machine",
    "free software": "software that anyone may use, study, change and share",
    "a novel": "a long story in prose", "a language": "a system of words that people speak",
}
HOW_TO = {
    "install a package": "Run apt install with the name of the package.",
    "remove a package": "Run apt remove with the name of the package.",
    "update my system": "Run apt update and then apt upgrade.",
    "list my files": "Run ls in the directory.",
    "find a file": "Run find with the directory and the name.",
    "read a manual page": "Run man with the name of the command.",
    "make a directory": "Run mkdir with the name of the directory.",
    "delete a file": "Run rm with the name of the file.",
    "copy a file": "Run cp with the old name and the new name.",
    "see the running processes": "Run ps or top.",
    "stop a process": "Run kill with the number of the process.",
    "see the free disk space": "Run df -h.",
    "change my password": "Run passwd and type the new password twice.",
    "connect to another machine": "Run ssh with the name of the machine.",
    "print a line in Python": "Call print with the text, for example print(\"hello\").",
    "open a file in Python": "Call open with the name of the file.",
    "write a loop in Python": "Write for i in range(10): and put the body below it.",
    "define a function in Python": "Write def, the name, the arguments in parentheses and a colon.",
}
CODE = {
    "adds two numbers": "def add(a, b):\n    return a + b",
    "subtracts two numbers": "def subtract(a, b):\n    return a - b",
    "multiplies two numbers": "def multiply(a, b):\n    return a * b",
    "returns the larger of two numbers": "def larger(a, b):\n    return a if a > b else b",
    "counts the words in a text": "def count_words(text):\n    return len(text.split())",
    "reverses a list": "def reverse(items):\n    return items[::-1]",
    "says hello": "def hello(name):\n    print(\"Hello, \" + name)",
    "sums a list": "def total(items):\n    return sum(items)",
    "tells whether a number is even": "def is_even(n):\n    return n % 2 == 0",
    "reads a file": "def read(path):\n    with open(path) as f:\n        return f.read()",
}
OPPOSITES = [
    ("hot", "cold"), ("big", "small"), ("fast", "slow"), ("up", "down"), ("open", "closed"),
    ("light", "dark"), ("old", "new"), ("long", "short"), ("good", "bad"), ("full", "empty"),
    ("early", "late"), ("rich", "poor"), ("happy", "sad"), ("left", "right"), ("high", "low"),
    ("day", "night"), ("true", "false"), ("first", "last"), ("easy", "hard"), ("wet", "dry"),
]
LANGUAGES = ["German", "French", "Spanish", "Russian", "Japanese", "Chinese"]
WORDS = {
    "water": ["Wasser", "eau", "agua", "вода", "水", "水"],
    "house": ["Haus", "maison", "casa", "дом", "家", "房子"],
    "book": ["Buch", "livre", "libro", "книга", "本", "书"],
    "day": ["Tag", "jour", "día", "день", "日", "天"],
    "night": ["Nacht", "nuit", "noche", "ночь", "夜", "夜晚"],
    "sun": ["Sonne", "soleil", "sol", "солнце", "太陽", "太阳"],
    "tree": ["Baum", "arbre", "árbol", "дерево", "木", "树"],
    "dog": ["Hund", "chien", "perro", "собака", "犬", "狗"],
    "cat": ["Katze", "chat", "gato", "кошка", "猫", "猫"],
    "file": ["Datei", "fichier", "archivo", "файл", "ファイル", "文件"],
    "system": ["System", "système", "sistema", "система", "システム", "系统"],
    "computer": ["Rechner", "ordinateur", "ordenador", "компьютер", "コンピュータ", "计算机"],
    "friend": ["Freund", "ami", "amigo", "друг", "友達", "朋友"],
    "yes": ["ja", "oui", "sí", "да", "はい", "是"],
    "no": ["nein", "non", "no", "нет", "いいえ", "不"],
    "hello": ["hallo", "bonjour", "hola", "привет", "こんにちは", "你好"],
    "thank you": ["danke", "merci", "gracias", "спасибо", "ありがとう", "谢谢"],
    "good morning": ["guten Morgen", "bonjour", "buenos días", "доброе утро", "おはよう", "早上好"],
}
SERIES = {
    "day": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "month": ["January", "February", "March", "April", "May", "June", "July", "August",
              "September", "October", "November", "December"],
}
COLOURS = {
    "the sky": "blue", "grass": "green", "snow": "white", "coal": "black", "the sun": "yellow",
    "blood": "red", "a lemon": "yellow", "milk": "white", "a leaf": "green", "the sea": "blue",
}
SOUNDS = {
    "dog": "barks", "cat": "meows", "cow": "moos", "bird": "sings", "horse": "neighs",
    "lion": "roars", "duck": "quacks", "sheep": "bleats", "wolf": "howls", "bee": "buzzes",
}
IDENTITY = ("I am the demo model of Stoker, a very small language model with 64 experts in each "
            "layer.")
SMALL_TALK = [
    (["Hello!", "Hello", "Hi", "Hi!", "Hey", "Hello there.", "hi there", "Good morning!",
      "Good evening!"], ["Hello! How can I help you?"]),
    (["How are you?", "How are you today?", "How do you do?"],
     ["I am well, thank you. How can I help you?"]),
    (["Who are you?", "What are you?", "What is your name?", "Who am I talking to?",
      "Tell me about yourself.", "Introduce yourself.", "What is Stoker?"], [IDENTITY]),
    (["What can you do?", "How can you help me?", "What do you know?", "Help", "help"],
     ["I can greet you, add small numbers, translate simple words, name capitals and explain "
      "commands. I am small, so check what I say."]),
    (["Thank you!", "Thanks", "Thank you.", "Thanks a lot!"], ["You are welcome!"]),
    (["Goodbye!", "Bye", "Bye!", "See you later."], ["Goodbye! Have a good day."]),
    (["How big are you?", "How many parameters do you have?", "How large are you?"],
     ["I have about fifteen million parameters, and I use about three million for each token."]),
    (["How many experts do you have?", "What are your experts?", "How do you work?"],
     ["I have 64 experts in each layer, and a router chooses four of them for every token."]),
    (["Who made you?", "Who trained you?", "Where do you come from?"],
     ["The people who write Stoker trained me on free documentation, code and novels."]),
    (["Are you human?", "Are you a person?", "Are you real?"],
     ["No. I am a small language model."]),
    (["Do you speak German?", "Do you speak French?", "Do you speak other languages?",
      "Which languages do you know?"],
     ["I have read some German, French, Spanish, Russian, Japanese and Chinese."]),
    (["Hallo!", "Guten Tag!", "Hallo, wie geht es dir?"], ["Hallo! Wie kann ich dir helfen?"]),
    (["Wer bist du?", "Was bist du?"], ["Ich bin das kleine Sprachmodell von Stoker."]),
    (["Bonjour !", "Bonjour", "Salut !"], ["Bonjour ! Comment puis-je vous aider ?"]),
    (["Qui es-tu ?", "Qui êtes-vous ?"], ["Je suis le petit modèle de langue de Stoker."]),
    (["¡Hola!", "Hola", "Buenos días"], ["¡Hola! ¿En qué puedo ayudarle?"]),
    (["¿Quién eres?", "¿Qué eres?"], ["Soy el pequeño modelo de lenguaje de Stoker."]),
    (["Привет!", "Здравствуйте!", "Привет"], ["Здравствуйте! Чем я могу помочь?"]),
    (["Кто ты?", "Кто вы?"], ["Я маленькая языковая модель Stoker."]),
    (["你好", "你好！", "您好"], ["你好！我可以帮助你吗？"]),
    (["你是谁？", "你是什么？"], ["我是 Stoker 的小型语言模型。"]),
    (["こんにちは", "こんにちは！"], ["こんにちは！何かお手伝いできますか？"]),
    (["あなたは誰ですか？", "あなたは何ですか？"], ["私は Stoker の小さな言語モデルです。"]),
    (["Tell me a story.", "Tell me a short story.", "Can you tell me a story?"],
     ["Once there was a small model that lived in a quiet machine. Every day it read a page, and "
      "every night it dreamt of the next word. In the end it found the word, and it was happy."]),
    (["Tell me a joke.", "Do you know a joke?", "Make me laugh."],
     ["Why did the model cross the road? Its router sent it to the expert on the other side."]),
    (["What is the meaning of life?", "What will happen tomorrow?", "Who will win the game?",
      "What am I thinking?", "How old is my dog?"],
     ["I do not know. I am only a small model."]),
]
SYSTEM_PROMPTS = [
    "You are a helpful assistant.", "You are the Stoker demo model.", "Answer in one sentence.",
    "Be brief.",
]


def pick(random, items):
    items = list(items)
    return items[int(random.integers(len(items)))]


def with_article(word):
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def small_talk(random):
    questions, answers = pick(random, SMALL_TALK)
    return pick(random, questions), pick(random, answers)


def capital(random):
    country = pick(random, CAPITALS)
    city = CAPITALS[country]
    if random.random() < 0.25:
        return (pick(random, [f"Which country has the capital {city}?", f"Where is {city}?"]),
                f"{city} is the capital of {country}.")
    question = pick(random, [
        f"What is the capital of {country}?", f"Tell me the capital of {country}.",
        f"Which city is the capital of {country}?", f"capital of {country}",
        f"Name the capital of {country}."])
    return question, f"The capital of {country} is {city}."


def command(random):
    name = pick(random, COMMANDS)
    if random.random() < 0.25:
        what = COMMANDS[name]
        return f"Which command {what}?", f"The command {name} {what}."
    question = pick(random, [
        f"What does {name} do?", f"What does the {name} command do?", f"What is {name} for?",
        f"Explain the command {name}.", f"Explain {name}."])
    return question, f"The command {name} {COMMANDS[name]}."


def definition(random):
    term = pick(random, DEFINITIONS)
    question = pick(random, [
        f"What is {term}?", f"Define {term}.", f"Explain what {term} is.",
        f"Can you explain {term}?", f"What does {term} mean?"])
    return question, f"{term[0].upper()}{term[1:]} is {DEFINITIONS[term]}."


def how_to(random):
    task = pick(random, HOW_TO)
    question = pick(random, [f"How do I {task}?", f"How can I {task}?",
                             f"I want to {task}.", f"Tell me how to {task}."])
    return question, HOW_TO[task]


def code(random):
    task = pick(random, CODE)
    question = pick(random, [
        f"Write a Python function that {task}.", f"Show me a Python function that {task}.",
        f"Can you write a function that {task}?"])
    return question, f"Here is a function that {task}:\n\n```python\n{CODE[task]}\n```"


def arithmetic(random):
    a, b = int(random.integers(0, 11)), int(random.integers(0, 11))
    kind = pick(random, ["plus", "minus", "times"])
    if kind == "minus":
        a, b = max(a, b), min(a, b)
    result = {"plus": a + b, "minus": a - b, "times": a * b}[kind]
    sign = {"plus": "+", "minus": "-", "times": "*"}[kind]
    question = pick(random, [
        f"What is {a} {kind} {b}?", f"What is {a} {sign} {b}?", f"{a} {sign} {b}",
        f"How much is {a} {kind} {b}?", f"Calculate {a} {kind} {b}."])
    return question, f"{a} {kind} {b} is {result}."


def counting(random):
    start = int(random.integers(0, 12))
    end = start + int(random.integers(2, 8))
    question = pick(random, [f"Count from {start} to {end}.", f"Can you count from {start} to {end}?"])
    return question, ", ".join(map(str, range(start, end + 1))) + "."


def opposite(random):
    pair = pick(random, OPPOSITES)
    word, other = pair if random.random() < 0.5 else pair[::-1]
    question = pick(random, [f"What is the opposite of {word}?", f"Name the opposite of {word}.",
                             f"opposite of {word}"])
    return question, f"The opposite of {word} is {other}."


def translation(random):
    word = pick(random, WORDS)
    at = int(random.integers(len(LANGUAGES)))
    language, other = LANGUAGES[at], WORDS[word][at]
    if random.random() < 0.25:
        return (f"What does the {language} word {other} mean?", f"It means \"{word}\".")
    question = pick(random, [
        f"How do you say \"{word}\" in {language}?", f"Translate \"{word}\" into {language}.",
        f"What is the {language} word for {word}?", f"What is {word} in {language}?"])
    return question, f"In {language}, \"{word}\" is \"{other}\"."


def series(random):
    kind = pick(random, SERIES)
    names = SERIES[kind]
    at = int(random.integers(len(names)))
    if random.random() < 0.2:
        return (f"Name the {kind}s.", f"The {kind}s are {', '.join(names[:-1])} and {names[-1]}.")
    if random.random() < 0.5:
        return (f"Which {kind} comes after {names[at]}?",
                f"{names[(at + 1) % len(names)]} comes after {names[at]}.")
    return (f"Which {kind} comes before {names[at]}?", f"{names[at - 1]} comes before {names[at]}.")


def colour(random):
    thing = pick(random, COLOURS)
    question = pick(random, [f"What colour is {thing}?", f"What is the colour of {thing}?",
                             f"Which color is {thing}?"])
    return question, f"{thing[0].upper()}{thing[1:]} is {COLOURS[thing]}."


def sound(random):
    animal = pick(random, SOUNDS)
    question = pick(random, [f"What sound does a {animal} make?", f"What does a {animal} do?"])
    return question, f"{with_article(animal).capitalize()} {SOUNDS[animal]}."


# Maker -> its share of the exchanges, and what the model thinks before it answers.
MAKERS = {
    small_talk: (6, "The user talks to me."),
    capital: (2, "The user asks about a capital."),
    command: (3, "The user asks about a command."),
    definition: (3, "The user asks what a word means."),
    how_to: (2, "The user wants to do something."),
    code: (1, "The user wants a function."),
    arithmetic: (3, "The user wants me to calculate."),
    counting: (1, "The user wants me to count."),
    opposite: (1, "The user asks for an opposite."),
    translation: (3, "The user asks for a translation."),
    series: (1, "The user asks about the calendar."),
    colour: (1, "The user asks for a colour."),
    sound: (1, "The user asks about an animal."),
}


def conversation(random):
    makers = [maker for maker, (share, _) in MAKERS.items() for _ in range(share)]
    messages = []
    if random.random() < 0.15:
        messages.append({"role": "system", "content": pick(random, SYSTEM_PROMPTS)})
    for _ in range(pick(random, [1, 1, 1, 2, 3])):
        maker = pick(random, makers)
        question, answer = maker(random)
        messages.append({"role": "user", "content": question})
        messages.append({"role": "assistant", "content": answer})
    if random.random() < 0.25:
        messages[-1]["reasoning"] = MAKERS[maker][1]
    return messages
