"""What players read, in the languages that we know."""

from collections.abc import Mapping

_ENGLISH = {
    "image": "Type the {count} letters and digits in the picture. Capitals or not does not matter.",
    "arithmetic": "What is {sum}? Answer with a number.",
    "item": "Which of these are {kind}? Answer with all their numbers, such as 2 5. {listed}",
    "walk": "Walk {far} steps to the {way}.",
    "talk": "Talk to {npc}.",
    "sit": "Sit down and stand up again.",
    "emote": "Show the emotion {emotion}.",
    "north": "north",
    "south": "south",
    "east": "east",
    "west": "west",
    "smile": "smile",
    "surprise": "surprise",
    "thanks": "thanks",
    "time": "You have {minutes} min. Anybody may be asked; nothing happens to you only because of one answer.",
    "passed": "Thank you, that is right.",
    "wrong": "That is not right. Tries left: {left}.",
    "failed": "That is not right. This question is over.",
    "timeout": "The time for this question is over.",
    "refused": "There is no such question for you.",
    "over": "This question is over.",
}
_KOREAN = {
    "image": "그림에 보이는 글자와 숫자 {count}개를 입력하세요. 대소문자는 구분하지 않습니다.",
    "arithmetic": "계산 결과를 숫자로 입력하세요: {sum}",
    "item": "다음 중 '{kind}'에 해당하는 것의 번호를 모두 입력하세요(예: 2 5). {listed}",
    "walk": "{way}쪽으로 {far}걸음 이동하세요.",
    "talk": "다음 인물에게 말을 거세요: {npc}",
    "sit": "앉았다가 다시 일어나세요.",
    "emote": "다음 감정 표현을 하세요: {emotion}",
    "north": "북",
    "south": "남",
    "east": "동",
    "west": "서",
    "smile": "미소",
    "surprise": "놀람",
    "thanks": "감사",
    "time": "제한 시간은 {minutes}분입니다. 누구나 받을 수 있는 확인이며, 답 하나만으로 불이익을 받지 않습니다.",
    "passed": "감사합니다. 정답입니다.",
    "wrong": "정답이 아닙니다. 남은 횟수: {left}",
    "failed": "정답이 아닙니다. 이 확인은 끝났습니다.",
    "timeout": "제한 시간이 지났습니다.",
    "refused": "해당하는 확인이 없습니다.",
    "over": "이 확인은 이미 끝났습니다.",
}
LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": _ENGLISH, "ko": _KOREAN}
# Items that most such games have, by what they are; a game's own are better.
ITEMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "en": {
        "weapons": ("sword", "dagger", "bow", "spear", "axe", "mace"),
        "food": ("apple", "bread", "cheese", "carrot", "meat", "grapes"),
        "clothes": ("hat", "boots", "gloves", "cloak", "shirt", "belt"),
        "animals": ("horse", "wolf", "cat", "bear", "rabbit", "frog"),
    },
    "ko": {
        "무기": ("검", "단검", "활", "창", "도끼", "철퇴"),
        "음식": ("사과", "빵", "치즈", "당근", "고기", "포도"),
        "옷": ("모자", "장화", "장갑", "망토", "셔츠", "허리띠"),
        "동물": ("말", "늑대", "고양이", "곰", "토끼", "개구리"),
    },
}
