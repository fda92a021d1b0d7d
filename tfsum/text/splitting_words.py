"""Character classes and word lists of the rules that split sentences, as RE2 patterns.

In RE2 `\\b \\w \\s` know only ASCII, hence `SPACE`; `[^\\P{Han}x]` is a Chinese character other
than x.
"""

BEGIN, MAYBE = "\x01", "\x02"  # marks: a sentence begins here; one may begin here
SPACE = r"[\s\x0b\x{85}\p{Z}]"
BLANK = r"[\p{Zs}\t]"
END = r"[.!?…‽⁇⁈⁉]"  # these need white space after them, the next two do not
CJK_END = r"[。！？｡]"
SCRIPT_END = r"[؟۔।॥።။។։]"  # Arabic, Urdu, Devanagari, Ethiopic, Burmese, Khmer, Armenian
DOTS = r"(?:…+|\.\.\.+)"
CLOSE = r"""(?:["'”’»)\]」』｣》〉】）］〕]|\[[0-9, ]{1,12}\])"""  # [12] is a note
OPEN = r"""["'“‘«‹„(\[「『｢《〈【（［〔]"""
CLOSE_QUOTE = r"""[」』｣”’"']"""
CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
IDEOGRAPHIC = r"[\p{Han}\p{Hiragana}\p{Katakana}。！？｡]"
BULLET = r"[•⁃◦▪‣●]"
START = rf"(?:^|[\n{BEGIN}])"

TITLES = (  # never the end of a sentence
    r"Mr|Mrs|Ms|Mx|Messrs|Dr|Drs|Prof|Gen|Maj|Col|Lt|Capt|Cpl|Sgt|Pvt|Pfc|Spc|Cmdr|Adm|Brig|Sen|Sens|Rep|Reps|"
    r"Gov|Govs|Pres|Supt|Det|Insp|Rev|Fr|Hon|Amb|Atty|Asst|Assoc|Mt|Ft|Sra|Srta|Dra|Mme|Mlle|vs|v|cf|viz|"
    r"[ei]\.[eg]|z\.B|d\.h|bzw"
)
NUMBERED = (
    r"[Nn]os?|N°|[Pp]{1,2}|[Ff]igs?|[Vv]ols?|[Cc]h|[Cc]hap|[Aa]rts?|[Ss]ecs?|[Pp]ts?|[Ee]q|[Nn]r|c|ca|"
    r"approx|[Tt]el|[Ee]xt"
)
MONTH_ABBREVIATIONS = r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
COMPANIES_AND_PLACES = r"Co|Inc|Corp|Ltd|Bros|Cos|Jr|Sr|Esq|St|Ste|Ave|Blvd|Rd|Dept|Univ|Assn|Mfg"
AMBIGUOUS = (  # the end of a sentence only before a frequent first word
    rf"{COMPANIES_AND_PLACES}|co|al|{MONTH_ABBREVIATIONS}|Mon|Tues?|Wed|Thurs?|Thu|Fri|Sat|Ala|Ariz|Ark|Calif|"
    r"Colo|Conn|Del|Fla|Ga|Ill|Ind|Kan|Ky|La|Mass|Md|Mich|Minn|Miss|Mo|Mont|Neb|Nev|Okla|Ore|Pa|Penn|Tenn|Tex|"
    r"Va|Vt|Wash|Wis|Wyo|Ph\.D|Ed\.D|[MB]\.Sc|[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]"
)
LETTERED = (  # what a single letter names, so that it is no initial
    r"[Vv]itamin|[Hh]epatitis|[Pp]lan|[Tt]ype|[Cc]lass|[Gg]rade|[Gg]roup|[Ss]chedule|[Aa]ppendix|[Ee]xhibit|War"
)
FREQUENT = (  # first words that hardly ever continue a name
    r"The|A|An|It|He|She|They|We|I|You|This|That|These|Those|There|Here|But|And|Or|Nor|So|Yet|If|In|On|At|As|By|"
    r"For|From|With|Without|To|Of|When|While|What|Where|Who|Whose|Which|Why|How|Whether|Is|Are|Was|Were|Be|Do|"
    r"Does|Did|Has|Have|Had|Can|Could|Would|Should|Must|Might|Please|Let|His|Her|Its|Their|Our|My|Your|One|Two|"
    r"Three|Some|Many|Most|Much|More|All|Any|No|Not|None|Nothing|Now|Then|After|Before|Since|Until|During|"
    r"However|Although|Though|Because|Even|Also|Still|Once|Only|Just|Such|Each|Every|Both|Either|Neither|Another|"
    r"Other|Others|About|Between|Through|Among|According|Meanwhile|Later|Earlier|Instead|Despite|Like|Nobody|"
    r"Everyone|Everybody|Someone|Something|Several|Few|Again|Perhaps|Maybe|Yes|Today|Yesterday|Tomorrow|Too|"
    r"Thus|Therefore|Moreover|Furthermore|Additionally|Back|Well"
)
AFTER_HOUR = (
    r"[A-Z]{2,5}\b|Eastern|Central|Pacific|Mountain|Greenwich|Local|Mon|Tue|Wed|Thu|Fri|Sat|Sun|May|June|July|"
    + MONTH_ABBREVIATIONS
)

# Japanese. After a closing quote a particle continues the sentence; でも, だから, もう,
# とうとう begin one.
JAPANESE_PARTICLES = (
    r"と(?:[^てこにきりうもっ]|う[^と]|こ[^ろ]|に[^か]|き[^どにお]|も[^かあに]|っ[^さく])|って|という|を|が[^、]|の|"
    r"は[^いっじ]|も[^うしっちと]|に[^わ]|で[^もはす]|です|だった|だけ[^どれ]|だ[^がかっけ]|や[^がっは]|"
    r"など|から|まで|へ|か[。、]|なんて[言思いこ]|らしい|みたい|ばかり|しか|じゃな|くらい|ぐらい|ほど"
)
JAPANESE_FINAL = (
    r"(?:た|る|だ|い|ん|う|く|す|つ|む|よ|ね|わ|ぞ|のか|すか|うか)"  # forms that end a sentence
)
JAPANESE_OPENERS = (
    r"たぶん|多分|きっと|おそらく|恐らく|もしかし|ひょっと|もう|まだ|やはり|やっぱり|しかし|だが|だから|でも|そして|"
    r"それ|これ|あれ|ここ|そこ|私|わたし|僕|俺|彼|あなた|あいつ|君|誰|だれ|何|なぜ|なんで|どう|いや|はい|いいえ|ああ|"
    r"さあ|まさか|本当|今|明日|突然"
)

# Chinese, simplified and traditional. What reports a quote is a subject without a negation or a
# copula, a verb of speech, and a comma or full stop; anything may precede an adverb (不高兴地,
# 忍不住). 知道, 小说 are not verbs of speech.
_OTHER = r"\s\x01，。！？、：；…“”‘’「」『』（"
_NEGATION = "没沒不未无無非别別拒等难難忘是有"
SPEECH_VERBS = (
    r"[说說讲講喊叫嚷吼骂罵叹嘆问問答称稱曰]|[^\P{Han}知街味轨軌频頻渠管通航隧铁鐵公柔空地霸赤水门門车車大小难難]道|[我你他她暗心]想|表示|"
    r"回[应應]|解[释釋]|[补補]充|[强強][调調]|介[绍紹]|指出|透露|[坦直]言|感[叹嘆]|嘟囔|嘀咕|低[语語]|自[语語]|吩咐|提醒|警告|抱怨|"
    r"宣[布佈]|承[认認]|[认認][为為]|(?:[问問]|回答|告[诉訴]|提醒|警告)[我你您他她它][们們]?|告[诉訴]\p{Han}{2,3}"
)
CHINESE_REPORT = (
    rf"(?:(?:[^{_OTHER}是]{{0,12}}(?:地|不住|不禁|不由得)[^{_OTHER}{_NEGATION}]{{0,6}}|"
    rf"[^{_OTHER}{_NEGATION}]{{0,14}}[^{_OTHER}{_NEGATION}小传傳演听聽疑学學访訪顾顧])"
    rf"(?:{SPEECH_VERBS})(?:了?一[句声聲遍])?[，。！,…—；;]|"
    rf"[^{_OTHER}{_NEGATION}]{{0,14}}(?:[说說][着著完]|，[说說问問答喊叫笑]道?[。！]))"
)
CHINESE_CONTINUES = (  # words after a quote that is a part of the sentence
    r"的|是[^的啊呀吗嗎，。！]|等(?:[，。、"
    r"]|口[号號]|[标標][语語]|字[样樣]|[问問][题題]|[说說]法|[词詞]|[话話])|[和与與及]|以及|"
    r"[这這](?:[句番段]|一?[个個种種](?:[问問][题題]|[说說]法|字|[词詞]|口[号號])|[样樣]的|一[句点點问問])|成[了为為]|"
    r"一(?:[句词詞语語声聲书書文类類题題说說问問曲诗詩案幕])|之(?:[类類声聲说說语語词詞])|[二两兩三四五六七八九十几幾][个個]大?字"
)
# A clause: four characters and more, the last of which does not need what follows.
CHINESE_CLAUSE = (
    r"(?:\p{Han}{3}[^\P{Han}的地得和与與在把被是就向對对從从給给讓让使为為个個我你他她它们們这這那想]|\p{Han}{4}[我你他她它们們]|"
    r"\p{Han}{2}[了吗嗎呢吧啊呀])"
)
CHINESE_OPENERS = (
    r"也[许許]|或[许許]|可能|大概|恐怕|[说說]不定|[难難]道|忽然|突然|原[来來]|后来|後來|第二天|[我你您他她它这這那谁誰]|"
    r"[没沒]有?人|[为為]什[么麼]|怎[么麼]|今天|明天"
)
_PLAIN = r"[^“”‘’「」『』\x01]*"  # inside a quote of one sentence
QUOTE = rf"(?:“{_PLAIN}”|‘{_PLAIN}’|「{_PLAIN}」|『{_PLAIN}』)"
QUOTES = r"""(?:“[^“”]*”|「[^「」]*」|『[^『』]*』|‘[^‘’]*’|"[^"\n]*")"""

# Korean.
KOREAN_FINAL = r"(?:다|요|까|죠)"
KOREAN_QUOTATIVES = (  # what continues the sentence after a quote
    r"이?라(?:고|며|면서|는|던|니|도|서)|하는 [^수]|"
    r"(?:란|이?라|며|면서|은|는|을|를|의|에|등의?|하고|하고는|하며|하면서|하던|하자|따위의?)[ ,]|"
    r"(?:이란|같은) (?:말|질문|소리|표현|이야기|얘기|생각|구호|문구|대사)|"
    r"고 (?:말|했|하[는며면였던]|할|밝|전했|전한|강조|주장|설명|덧붙|답|대답|물었|"
    r"묻|외쳤|적|썼|지적|비판|당부|요청|소리|생각)|"
    r"(?:외쳤|외치|소리쳤|소리치|소리를 질|물었|말했|대답했|중얼거|속삭)"
)
KOREAN_HESITATION = (  # particles, conjunctions and fillers that do not end a sentence
    r"(?:[은는이을를의에와과]|[^는은인던]가|(?:^|[\s“\"‘'\x01])(?:하지만|그런데|근데|그리고|그러나|그래서|그러면|그러니까|그게|그건|"
    r"만약|만일|사실|왜냐하면|나도|저도|음|어|저|저기|그))"
)
