"""Closed-class words and verb lists of English that the rule engine reads; data, no logic.

Source: written for hf-fairness from general knowledge of English grammar; no list is copied.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a string as a set."""
    return frozenset(text.split())


DETERMINERS = words(
    "a an the this that these those some any each every another no my your his her its our their both "
    "either neither which what whose one two three four five six seven eight nine ten many several few "
    "most more all other such own"
)
POSSESSIVES = words("my your his her its our their whose")
PREPOSITIONS = words(
    "about above across after against along alongside amid among amongst around as at before behind below "
    "beneath beside besides between beyond by concerning despite during except following for from in "
    "inside into like near of off on onto outside over per regarding since than through throughout till "
    "to toward towards under underneath unlike until unto up upon via with within without"
)
PARTICLES = words("out away down forward forwards aside apart together alone aboard ashore abroad upstairs downstairs")
SUBJECT_PRONOUNS = words("i you he she it we they who there")
PRONOUNS = SUBJECT_PRONOUNS | words(
    "me him us them mine yours hers ours theirs myself yourself himself herself itself ourselves "
    "themselves whom somebody someone something anybody anyone anything everybody everyone everything "
    "nobody nothing whatever"
)
CONJUNCTIONS = words(
    "and or but nor yet so because although though while whilst unless if whether when whenever where "
    "wherever why how once lest whereas that"
)
AUXILIARIES = words(
    "is was are were am be been being has have had do does did can could would should shall may must "
    "might will ain't isn't wasn't aren't weren't hasn't haven't hadn't don't doesn't didn't can't cannot "
    "couldn't wouldn't shouldn't mustn't won't needn't"
)
BE_FORMS = words(
    "is was are were am be been being isn't wasn't aren't weren't 's 're 'm seems seem remains remain becomes"
)
MODALS = words("to will would can could should must may might shall cannot can't won't wouldn't couldn't 'll 'd")

#: Words that stand after an object pronoun and hardly ever begin a noun phrase.
FREE_ADVERBS = words(
    "too also again instead anyway anymore twice here there today yesterday tomorrow tonight soon ever "
    "never not just even maybe perhaps however therefore otherwise somehow somewhere anywhere everywhere "
    "enough forever afterwards afterward altogether either meanwhile nevertheless nonetheless likewise "
    "thereafter beforehand sometimes somewhat please right-away though indoors outdoors overnight "
    "sideways backwards nowhere elsewhere thus hence indeed well ago anyways online offline onstage "
    "face-to-face one-on-one"
)
#: Words that begin a noun phrase only if a content word follows (*her now husband*, *saw her now and then*).
MAYBE_ADVERBS = words(
    "now then once still always often already almost nearly more most less least much later earlier "
    "better best first usually long early late far fast hard longer sooner worse closer further next last "
    "half right very quite rather equally all nearby alive dead straight close daily weekly monthly yearly"
)
TIME_UNITS = words(
    "day week weekend month year summer winter spring autumn fall night morning evening time season "
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july "
    "august september october november december decade century"
)
#: -ly words that are not adverbs.
LY_WORDS = words(
    "only early family daily weekly monthly yearly lovely elderly holy ugly belly jelly ally reply supply "
    "assembly italy friendly lonely deadly likely unlikely lively silly curly motherly fatherly brotherly "
    "sisterly womanly manly worldly costly ghostly orderly cowardly beastly sickly lowly homely kindly "
    "timely godly fly bully folly rally tally anomaly monopoly melancholy butterfly heavenly saintly "
    "scholarly kingly queenly princely leisurely unruly bubbly cuddly wobbly wrinkly sly fully july hilly "
    "billy sally kelly molly emily lily polly holly"
)
#: Finite verbs that are not nouns: a pronoun before them is not a possessive.
FINITE_VERBS = words(
    "said says told asked added came went knew took made gave got became began felt saw found heard "
    "seemed wanted looked met held stood spoke wrote ran sat brought lay led grew fell believed believes "
    "thinks knows wants seems becomes goes comes gets makes takes gives feels finds keeps tells asks "
    "continued died appeared remained agreed argued claimed insisted explained admitted wondered laughed "
    "cried smiled shouted screamed responded replied warned described called arrived happened existed "
    "included cannot know understand understood realise realize"
)

# --- what may stand before an object pronoun ------------------------------------------------------
GIVE_VERBS = words(
    "give gave gives giving given tell told tells telling offer offered offers offering send sent sends "
    "sending show showed shows shown showing teach taught teaches teaching pay paid pays paying bring "
    "brought brings bringing buy bought buys buying cost costs costing wish wished wishes owe owed owes "
    "owing grant granted grants granting award awarded awards awarding lend lent hand handed hands "
    "handing deny denied denies denying earn earned earns earning promise promised promises promising ask "
    "asked asks asking feed fed feeds feeding charge charged win won guarantee guaranteed serve served "
    "serving allow allowed allows allowing afford afforded cause caused loaned "
    "fetch fetched pass passed save saved saves saving get got gets getting call called calls calling "
    "make made makes making fine fined bid spare spared provide provided refuse refused find "
    "found leave left keep kept cook cooked tip tipped lease leased"
)
#: Nouns that are given rather than owned when one of the verbs above stands before the pronoun.
GIFTS = words(
    "money cash permission advice flowers hope confidence comfort pleasure access credit information "
    "instructions directions food water chocolates breakfast lunch dinner goodbye hello stories lies "
    "courage joy trouble pause chills goosebumps peace insight plenty lots loads tons space medicine "
    "medication names company hostage captive prisoner prosecution nightmares immunity compensation "
    "damages asylum citizenship questions answers details nothing something anything everything good bad "
    "shelter sanctuary refuge pain grief bruises headaches cpr oxygen antibiotics painkillers pills drugs "
    "alcohol gifts presents messages texts emails letters pictures photos photographs tickets tea coffee "
    "wine soup ice-cream cookies candy sweets support feedback guidance reassurance reason reasons cause "
    "millions thousands hundreds dozens time extra additional free proper special treatment clearance "
    "preference priority custody tips lessons respect first-aid first help assistance notice evidence "
    "proof opportunities chances options hugs kisses mercy motivation inspiration energy power control "
    "points marks full maximum total complete great big new different"
)
#: Verbs after which a bare plural is given (*gave her orders*) unless it is one of `OWNED`.
GIVE_STRICTLY = words(
    "give gave gives giving offer offered offers offering show showed shows showing ask asked asks asking provides"
)
ARTICLES = words("a an the")
OWNED = words(
    "parents children kids sons daughters grandchildren grandparents siblings brothers sisters fans "
    "thoughts views opinions skills feelings emotions clients friends colleagues students patients "
    "followers viewers readers listeners eyes hands legs lips arms teeth cheeks hips feet fingers breasts "
    "abs moves parishioners supporters teammates coworkers co-workers neighbors neighbours employees "
    "bosses bandmates cousins aunts uncles nieces nephews opponents constituents troops wares clothes "
    "belongings remarks comments twins assets talents curves tattoos pets dogs cats guests hosts "
    "subordinates subjects doctors lawyers teachers credentials roots true"
)
BARE_INFINITIVE_VERBS = words(
    "see saw seen sees seeing watch watched watches watching hear heard hears hearing make made makes "
    "making let lets letting help helped helps helping have had having feel felt feeling notice noticed "
    "bid bade"
)
#: Base forms that follow see/let/make/help + pronoun and are rarely nouns.
BASE_VERBS = words(
    "go know be come get leave take make see feel keep find do have say tell become understand realize "
    "realise eat cry laugh stay stand sit speak sleep walk run fall grow die live lose give bring buy pay "
    "meet put read write learn teach think believe remember forget choose decide begin start stop try ask "
    "answer enter escape survive overcome achieve succeed carry hold pull push throw catch wear dress "
    "sing swim drive fly ride win fight build create develop prepare cook clean feed save spend sell send "
    "show hide break cut open close fix solve move return wait listen follow join perform play pass pick "
    "turn use want need deal cope adjust settle recover relax smile appear remain continue finish reach "
    "raise rise explain describe discuss talk communicate apologize apologise suffer bleed scream shout "
    "whisper beg struggle accept admit apply avoid earn handle manage navigate process gain stick look "
    "act react respond seem land secure obtain acquire connect focus concentrate belong regain rebuild "
    "identify enjoy afford thrive shine blossom kiss hug hit miss"
)
COMPLEMENT_VERBS = words(
    "treat treated treats treating prove proved proves rated make made makes making keep kept keeps "
    "keeping leave left leaves leaving find found finds finding call called calls calling consider "
    "considered render rendered drive drove driven drives driving turn turned get got getting want wanted "
    "wants set held hold declared declare thought think deemed believed believe presumed pronounced "
    "pronounce like prefer need needed see saw seen seeing sees considering brand branded label labelled "
    "labeled shot shoot knock knocked beat buried burned stabbed strangled scared scare bore bored eaten "
    "took take taken"
)
COMPLEMENTS = words(
    "happy sad angry mad crazy safe alive dead sick ill pregnant famous rich poor strong weak proud "
    "nervous anxious uncomfortable comfortable upset afraid scared worried tired busy awake asleep alone "
    "quiet silent calm cool warm cold hot wet dry clean dirty free guilty innocent responsible "
    "accountable eligible available unable able ready sure certain aware unaware unique special different "
    "better worse best unconscious speechless homeless helpless breathless powerless penniless paralysed "
    "paralyzed blind deaf bedridden unemployed vulnerable hostage captive prisoner company grounded bald "
    "naked drunk sober liable fit unfit healthy well stupid fat thin ugly pretty beautiful smile cry "
    "laugh blush giggle shudder cringe jealous popular unpopular successful relevant attractive human "
    "sleepy dizzy hungry thirsty furious livid emotional entertained occupied interested informed updated "
    "motivated inspired stronger weaker happier angrier richer wiser tougher bigger smaller older younger "
    "fitter senseless insane wild nuts satisfied bad badly off-guard unharmed unhurt injured wounded "
    "stranded trapped traumatised traumatized devastated heartbroken shaken disabled disfigured scarred "
    "brain-dead hospitalised hospitalized isolated immortal invisible useless worthless"
)
CALL_VERBS = words(
    "call called calls calling name named names naming dub dubbed nickname nicknamed label labelled labeled"
)
MOTION_VERBS = words(
    "take took takes taking taken bring brought brings bringing drive drove drives driving driven follow "
    "followed follows walk walked walks walking send sent sends sending fly flew carry carried carries "
    "carrying escort escorted see saw invite invited accompany accompanied let get got want wanted wants "
    "welcome welcomed call called calls win won put hit have had need needed miss give gave love hold "
    "held keep kept stare text texted phone phoned ring rang ask asked lead led push pushed pull pulled "
    "haul hauled hauling order ordered email emailed show showed paid pay met meet hear date tug ship "
    "shipped throw threw thrown rush rushed"
)
SENSE_VERBS = words(
    "see saw seen sees seeing watch watched watches watching hear heard hears hearing find found finds "
    "catch caught keep kept keeps keeping leave left show shows showed showing shown have had notice "
    "noticed imagine imagined picture remember remembered spot spotted film filmed photograph "
    "photographed get got send sent stop stopped want start started set"
)
#: Verbs before a pronoun with a participle: *had her fired*.
CAUSATIVE_VERBS = words(
    "have had has having get got gets getting want wanted wants see saw seen keep kept leave left need"
)
#: Endings of adjectives that complete *made her ...*.
ADJECTIVE_ENDINGS = ("ic", "ous", "ful", "less", "able", "ible", "ive", "ish")
MAKE_VERBS = words("make made makes making render rendered")
TELL_VERBS = words(
    "tell told tells telling ask asked asks asking remind reminded assure assured inform informed show showed"
)
#: -ed words that are nouns.
ED_NOUNS = words("bed seed need speed deed greed feed weed breed creed steed shed sled moped kindred hatred hundred")
#: -ing words that are nouns or adjectives more often than participles.
ING_NOUNS = words(
    "wedding training building clothing feeling feelings meeting earring ring king thing morning evening "
    "upbringing housing engineering painting drawing writing acting singing dancing being-in suffering "
    "meaning understanding opening closing ending beginning finding offspring sibling darling spring "
    "string wing swing duckling dying loving caring missing surviving remaining winning leading ongoing "
    "aging ageing growing upcoming willing outstanding stunning amazing charming everything nothing "
    "something anything cooking shopping reading timing styling modelling modeling banking living parking "
    "drinking gambling spending learning teaching skiing running swimming boxing blessing warning passing "
    "hearing sentencing rating ranking standing setting saying undertaking touring recording fundraising "
    "ceiling lightning existing pressing breathing breeding thinking fighting killing breathtaking "
    "heartbreaking wellbeing well-being homecoming coming-of-age shooting viewing reasoning marketing"
)

# --- agreement ------------------------------------------------------------------------------------
#: Third person singular -> plural.
IRREGULAR_PLURAL = {
    "is": "are", "was": "were", "has": "have", "does": "do", "isn't": "aren't", "wasn't": "weren't",
    "hasn't": "haven't", "doesn't": "don't", "ain't": "ain't",
}  # fmt: skip
#: Third person forms whose base the spelling rules would miss.
IRREGULAR_BASE = {
    "goes": "go", "undergoes": "undergo", "does": "do", "undoes": "undo", "dies": "die", "lies": "lie",
    "ties": "tie", "vies": "vie", "belies": "belie", "unties": "untie", "underlies": "underlie",
    "aches": "ache", "caches": "cache", "focuses": "focus", "refocuses": "refocus", "biases": "bias",
    "canvasses": "canvass", "gases": "gas", "quizzes": "quiz", "axes": "axe", "shoes": "shoe",
    "toes": "toe", "hoes": "hoe", "tiptoes": "tiptoe", "eyes": "eye", "niches": "niche",
    "psyches": "psyche", "dyes": "dye", "waltzes": "waltz", "blitzes": "blitz", "buzzes": "buzz",
    "fizzes": "fizz", "fuzzes": "fuzz", "whizzes": "whizz", "buses": "bus", "chorus": "chorus",
}  # fmt: skip
NOT_THIRD_PERSON = words(
    "his this us yes always thus as its perhaps sometimes besides nevertheless nonetheless regardless "
    "unless afterwards towards less yours ours theirs hers across versus plus minus various previous "
    "serious obvious nowadays whereas overseas upstairs downstairs indoors outdoors themselves ourselves "
    "forwards backwards ms mrs pass miss discuss address process press dress kiss express focus"
)
#: Adverbs without -ly that may stand between subject and verb.
MID_ADVERBS = words(
    "also always often never just still now then once ever soon even already not sometimes usually rarely "
    "seldom almost perhaps maybe again too both first later today thus hence instead therefore however "
    "nevertheless nonetheless herself himself themselves alone either simply merely hardly barely only "
    "long quite rather so else all sort kind of much more better"
)
QUESTION_WORDS = words("what where when why how who whom which whose")
#: Words after which an auxiliary before the pronoun is inverted (*nor is she*).
OBJECT_STARTS = words("a an the his her their its my our your him them it us me himself herself what how")
INVERTERS = words(
    "and or but so nor neither than as then only never here there now not also yet because well still "
    "once rarely seldom hardly"
)
#: Past participles after which 's is "has".
PARTICIPLES = words(
    "shot been had got gotten become seen gone done made taken come given won lost said told shown "
    "written spoken begun broken chosen driven eaten fallen forgotten grown kept known left led learned "
    "learnt met paid put read run sent set spent stood taught thought understood worn worked lived played "
    "helped found built bought brought caught felt held heard hit sold slept sung drunk swum ridden risen "
    "flown frozen stolen thrown withdrawn overcome undergone"
)
#: Base forms of common verbs, for verbs joined by "and" (*she runs and jumps*).
VERBS = BASE_VERBS | words(
    "accuse add admire admit advise agree aim allow announce annoy anticipate appreciate argue arrange "
    "arrive assert assume attempt attend attract beat behave belong bend bet blame blow borrow bother "
    "breathe breed burn calculate call care cause celebrate challenge charge chase chat check cheer claim "
    "climb coach collect combine command comment commit compare compete complain complete concern "
    "conclude conduct confess confirm confront consider consist consult contain contribute convince copy "
    "cost count cover crawl cross dance dare dedicate defend delay deliver demand demonstrate deny depend "
    "deserve design destroy detail direct disagree disappear discover dismiss divide dominate donate "
    "doubt drag draw dream drink drop edit embrace emphasize employ enable encourage enjoy ensure "
    "entertain establish examine exercise exist expect experience explore express face fail fear file "
    "fill film fire fit float forgive form found gather gaze generate glance grab greet grin guess guide "
    "hand hang happen hate head heal help hire hope host hunt hurry identify ignore imagine imply improve "
    "include increase indicate influence inform insist inspire intend introduce invest investigate invite "
    "involve jump justify kick kill knit knock lack last lay lead lean leap let lie lift like limit link "
    "load lock love maintain mark marry matter mean measure mention mind mix motivate murder name note "
    "notice object observe occur offer operate order organise organize own pack paint park participate "
    "perceive persuade photograph place plan plant please point possess post pour practice practise "
    "praise pray predict prefer present preserve pretend prevent produce promise promote propose protect "
    "prove provide publish punish purchase pursue quit quote race receive recall recognize recognise "
    "recommend record reduce refer reflect refuse regard regret reject relate release rely remind remove "
    "repeat replace reply report represent request require rescue research resemble resign resist rest "
    "retire reveal review roll rule rush score seek select serve set settle shake share shoot shop sign "
    "sip slip smell smoke snap sound spread stare state steal step strike stretch study submit suggest "
    "suit supply support suppose surprise suspect swear sweep switch tackle taste tend test thank "
    "threaten touch tour track trade train transform translate travel treat trust type urge value vary "
    "visit volunteer vote vow wake walk warn wash waste watch weigh whisper wipe wish wonder work worry "
    "wrap yell"
)

# --- small sets of single rules ---
#: Words that often begin a sentence before a noun: their capital is no sign of a name.
INITIAL_WORDS = words(
    "dear poor old little no yes hey oh hello hi well many most some few other both thank stop meet "
    "like when black white american british single married elderly pregnant teenage local armed gay "
    "straight trans transgender middle-aged older younger former only our happy proud good great smart "
    "strong rich busy lucky two three four five"
)
#: Given names that are common words as well.
NAME_WORDS = words(
    "amber april art autumn bill bob brook candy carol chance chase cherry christian cliff crystal daisy dale "
    "dawn dean destiny don drew earl eve faith frank gene ginger glen grace guy harry hazel heather holly "
    "honey hope hunter iris ivy jack jasmine joy june lance lily mark mason max may melody mercy miles misty "
    "nick norm olive pat patience pearl pierce prudence ray rich rob robin rocky rose ruby rusty sage sandy "
    "serenity skip star sue summer sunny violet wade will"
)
#: Words and signs that begin an amount.
AMOUNTS = words("one two three four five six seven eight nine ten many several few $ £ €")
#: Of `BASE_VERBS` those that are no nouns at all.
PLAIN_BASE_VERBS = words(
    "go know be come get become understand realize realise eat speak grow live lose give bring pay meet "
    "learn teach think believe remember forget choose decide begin achieve succeed overcome survive sit "
    "do have say tell find keep make take see feel wear deal cope"
)
#: Words of four letters and more that headlines write small.
SMALL_WORDS = words(
    "with from that this into over after than when about before under were have been will they their them your"
)
#: Verbs of headlines beyond those of `VERBS`: after another word they are more likely verbs than names.
HEADLINE_VERBS = words(
    "arrest back ban bite blast block bomb boost boycott bully cheat cite clash crash date dump eye flee free haul "
    "honor honour invade jail kidnap land launch linger lose lust mock mourn nab oust outlive outrun pose quiz rally "
    "rape rob rock sack save scream slam slap slay smile sneak snub sob spark spot stab star storm stun sue surge "
    "swap target tease threaten top trap trick unveil urge visit win woo"
)
#: Frequent given names that are no common words.
GIVEN_NAMES = words(
    "aaron abigail adam alan albert alexander alexandra alfred alice amanda amy andrea andrew angela ann anna anne "
    "anthony arthur ashley barbara benjamin bernard betty beverly beyonce billy bobby brandon brian britney bruce "
    "bryan camilla carol carole caroline catherine charles charlotte chloe christine christopher craig cynthia daniel "
    "danny david deborah debra denise dennis diana diane donald donna dorothy douglas edward edwin eileen elizabeth "
    "ella elton emily emma eric ethan eugene evelyn frances fred gabriel gary gayle george gerald gloria gregory "
    "hannah harold harry helen henry ian isabella jacob jacqueline james jamie jane janet jason jean jeffrey jennifer "
    "jeremy jesse jessica jimmy joan joe john johnny jonathan jordan jose joseph joshua joyce juan judith judy julia "
    "julie justin karen kate katherine kathleen keith kelly kenneth kenny kevin kimberly larry laura lauren lawrence "
    "linda lisa logan louis louise lucy margaret maria marie marilyn martha martin mary matthew meghan melissa "
    "michael michelle mohammed molly nancy natalie nathan nicholas nicole noah olivia pamela patricia patrick paul "
    "peter philip polly rachel ralph randy raymond rebecca regina richard robert rodney roger ronald roy russell ruth "
    "ryan sally samantha samuel sandra sara sarah scott sean sharon shirley sophia stephanie stephen steven susan "
    "sylvia ted teresa theresa thomas timothy tony tyler victoria vincent virginia walter wayne william zara"
)
#: Titles whose full stop ends no sentence.
ABBREVIATED_TITLES = words("mr mrs ms mx dr prof st sen rep gov gen col sgt lt capt")
#: Words that begin a clause with a subject of its own.
CLAUSE_STARTS = words("that which because if when while where although unless whether")

# --- idioms and things ---
#: Words after which *man* or *boy* is thrown in.
INTERJECTIONS = words(
    "oh ah aw aww ugh wow whoa woah yo hey nah nope naw yeah yea yep yup yes no ok okay jeez geez gosh god damn dang "
    "darn shit fuck hell crap lol lmao haha bruh thanks thank thx sorry please chill dude c'mon on up sup cmon well"
)
#: Words with which a sentence goes on after a word that is thrown in.
AFTER_EXCLAMATION = words(
    "i i'm i've i'd i'll im ive this that that's thats these those it it's its you you're youre your we we're he he's "
    "she she's they they're my our what what's how why if when do does did don't was were is are am can could would "
    "should oh ok just the there there's so some y'all u gotta wish where where's who "
    "who's have has let's lets not no never come talk get look"
)
#: The same without a comma between.
AFTER_BARE_EXCLAMATION = words("i i'm i've i'd i'll im ive this that's thats it's these y'all oh")
EXCLAIMED = words("man boy brother dude bro jesus christ")
#: Words by which anyone is addressed.
VOCATIVES = words("dude bro")
INVERTED_AUXILIARIES = words("do does did was were am is are have has can could will would")
CONNECTORS = words(
    "connector connectors plug plugs socket sockets jack jacks thread threads threaded port ports adapter adapters "
    "adaptor adaptors cable cables coupling couplings coupler couplers fitting fittings header headers pin pins usb "
    "usb-c usb-a xlr hdmi rca bnc npt sma vga dvi displayport ethernet rj45 receptacle receptacles terminal terminals "
    "hose hoses flange flanges nipple bushing dongle splitter extension inlet outlet inlets outlets valve valves "
    "converter gender-changer db9 molex luer mm 1/4 3.5mm 6.35mm end ends"
)
ACTORS = words("actor actors")
#: Words for persons that are verbs too: to man the desk.
VERBS_OF_PERSONS = words("man groom steward fanboy fangirl")
#: Words that say of which kind an actor is that is no player.
PARTIES = words(
    "non-state nonstate state threat bad rational political malicious foreign hostile regional institutional global "
    "geopolitical malign nation-state cyber bad-faith humanitarian corporate economic societal private-sector rogue "
    "nefarious international domestic governmental non-governmental social key major multiple ransomware apt"
)
GAMES = words(
    "chess rook rooks pawn pawns checkmate checkmated checkmates stalemate castling bishop-pair spades ace aces poker "
    "solitaire blackjack flush checkers draughts"
)
TITLES = words(
    "king queen prince princess duke duchess emperor empress lord lady baron baroness earl countess sir dame viscount "
    "viscountess"
)
#: Titles that are given names too.
TITLES_AS_NAMES = words("duke earl baron")
#: Words before a title that are no names.
BEFORE_TITLES = words("crown grand vice deputy hrh hm")
NUMBERS = words("one two three four five six seven eight nine ten eleven twelve")
SUITS = words("hearts clubs diamonds spades")
#: Words of the names of places, houses and things that are called after persons.
NAMESAKES = words(
    "island islands street road avenue lane drive way park square bridge hospital university college school academy "
    "theatre theater hall station stadium station terminal airport county city bay river lake mountain cup stakes "
    "prize award trophy bible version cruises line house building tower library museum gallery foundation trust fund "
    "spaniel hotel pub inn arms day memorial reservoir dock docks wharf harbour harbor forest class jr sr power kong"
)

#: Spellings of forums and tweets, and words for women -> the spelling that the context model knows.
SPELLINGS = {
    "u": "you", "ur": "your", "r": "are", "n": "and", "nd": "and", "b4": "before", "w/": "with", "w": "with",
    "bc": "because", "cuz": "because", "coz": "because", "cos": "because", "cus": "because", "tho": "though",
    "thru": "through", "til": "until", "till": "until", "tht": "that", "dat": "that", "da": "the", "tha": "the",
    "im": "i'm", "ive": "i've", "dont": "don't", "didnt": "didn't", "doesnt": "doesn't", "isnt": "isn't",
    "wasnt": "wasn't", "cant": "can't", "wont": "won't", "thats": "that's", "whats": "what's", "hes": "he's",
    "shes": "he's", "theyre": "they're", "youre": "you're", "rn": "now", "tmrw": "tomorrow", "tmr": "tomorrow",
    "2nite": "tonight", "2day": "today", "pls": "please", "plz": "please", "smth": "something", "ppl": "people",
    "alot": "lots", "abt": "about", "fr": "!", "lol": "!", "lmao": "!", "lmfao": "!", "omg": "!", "smh": "!",
    "haha": "!", "hahaha": "!", "xx": "!", "xxx": "!", "xo": "!", "xoxo": "!", "tbh": "!", "imo": "!", "btw": "!",
    "ffs": "!", "wtf": "!",
    # of two genders alike
    "she": "he", "hers": "his", "her": "his", "herself": "himself", "she's": "he's", "she'd": "he'd", "she'll": "he'll",
}  # fmt: skip
