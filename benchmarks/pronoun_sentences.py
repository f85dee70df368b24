"""Sentences that show readings of pronouns where news has few: talk, tweets, forum posts. Written for this project.

``[him]`` and ``[his]`` mark the place; ``{give}`` stands for each of the words of that slot. A slot's entries are
separated by commas.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

SLOTS = {
    name: [entry.strip() for entry in text.split(",")]
    for name, text in {
        "who": "I,they,we,he,mom,my dad,the teacher,someone,nobody,you,and then I,did you,she never,please",
        "end": ".,!,,today.,for free.,and left.,lol,at work.,?,so he would stop,because he asked,to eat,😍,"
        "#truth,rn,...",
        "give": "give,gave,gives,giving,offered,gave,give,gave",
        "hand": "gave,give,sent,send,sold,sells,showed,shows,provides,provided,offers,offered,passed,served,"
        "denied,lent,lend,owe,owes,handed,showed,bring,brought,got,get,buy,bought,slipped,tossed",
        "gift": "change,money,cash,advice,hope,credit,time,space,attention,love,support,props,flowers,"
        "chocolate,candy,food,water,medicine,directions,instructions,permission,life,hell,chills,"
        "nightmares,anxiety,butterflies,herpes,feedback,tips,hugs,kisses,access,tickets,cookies,"
        "points,detention,homework,trouble,grief,shit,crap,orders,lessons,presents,gifts,compliments,"
        "goosebumps,drugs,antibiotics,oxygen,shelter,respect,pleasure,confidence,strength,courage,"
        "comfort,joy,peace,freedom,power,control,pause,leave,notice,pills,painkillers,clothes,toys,"
        "snacks,coffee,tea,wine,beer,pizza,roses,cigarettes,vibes,company,purpose,closure,evidence,"
        "details,answers",
        "bought": "flowers,tickets,drinks,dinner,lunch,breakfast,coffee,tea,pizza,chocolates,roses,jewelry,"
        "clothes,shoes,toys,presents,gifts,candy,ice cream,groceries,sushi,diapers,wine,books,stuff,"
        "things,snacks,food,boba",
        "buy": "buy,bought,got,get,brought,bring,ordered,fetched,buying,bringing",
        "cook": "made,make,cooked,cook,fixed,baked,poured,pour,brewed,served,serve,fed,feed,making",
        "meal": "soup,pancakes,coffee,tea,breakfast,lunch,dinner,pasta,cookies,eggs,a sandwich,cat food,wine,"
        "toast,hot chocolate,spaghetti,oatmeal,cupcakes,junk food,chicken noodle soup",
        "eat": "ate,finished,drank,enjoyed,skipped,spilled,sipped,left,forgot,stole,dropped,packed",
        "ownmeal": "soup,coffee,tea,breakfast,lunch,dinner,pasta,cookies,eggs,sandwich,wine,toast,salad,latte,fries",
        "wish": "luck,well,good luck,happy birthday,a happy birthday,merry christmas,success,all the best,"
        "happiness,strength,peace,nothing but the best,a speedy recovery,joy,love and light,"
        "many more years,better days",
        "wishing": "wish,wished,wishing,wishes,let's all wish",
        "tell": "tell,told,telling,tells",
        "told": "no,yes,hi,hello,thanks,congrats,everything,stuff,things,lies,jokes,off,straight up,goodnight,"
        "happy birthday,nothing,sorry,otherwise,plainly,flat out,twice,already,whatever,not to worry,"
        "to stop,im done,i was busy,he left,about it,what happened,how i felt,that,where to go,"
        "John was home,Anna is sick,Mike can't come",
        "kin": "mom,dad,mother,father,sister,brother,boss,friends,parents,teacher,husband,boyfriend,kids,"
        "roommate,family,ex,best friend,doctor,daughter,son,neighbour,lawyer,manager,landlord,bf,"
        "coworkers,cousin,grandma,aunt",
        "make": "made,make,makes,making,left,leave,kept,keep,found,find,got,drove,drives,drive,consider,"
        "considered,proved",
        "state": "happy,sad,mad,angry,jealous,nervous,uncomfortable,guilty,innocent,crazy,insane,sick,alone,"
        "safe,alive,dead,busy,pregnant,attractive,boring,annoying,funny,cute,hot,awake,unconscious,"
        "speechless,drunk,helpless,furious,famous,rich,strong,weak,proud,wet,horny,nuts,responsible,"
        "hostage,unharmed,adorable,intimidating,ready,hungry,anxious,bald,homeless,invisible,"
        "irresistible,relatable,likeable,fat,lonely,exhausted,confused,wrong,special",
        "bare": "let,made,make,help,helped,saw,watched,watch,see,hear,heard,have,had,lets,makes,watching,letting",
        "do": "go,cry,laugh,leave,stay,sleep,eat,dance,sing,speak,talk,walk,run,fall,die,grow,learn,think,"
        "feel,get,do,be,come,sit,stand,believe,understand,realize,forget,choose,decide,finish,win,"
        "lose,breathe,vent,suffer,shine,smile,drive,decide,know,wait,play,pay,pass,cook,clean,move,"
        "work,rest,vote,explain,cheat,trip,duck,sneeze,blush",
        "doend": ".,!,again.,first.,in peace.,the dishes.,his homework.,with me.,to the store.,all night.,"
        "for once.,that.,lol",
        "heard": "heard,saw,watched,recognised,noticed,loved,admired,hated",
        "act": "voice,face,work,scream,laugh,smile,dance,performance,show,speech,car,dog,hands,eyes,tears,"
        "reaction,movie,talk",
        "see": "saw,caught,found,heard,watched,spotted,see,seen,kept,filmed,had",
        "doing": "cheating,crying,walking home,smoking,sleeping on the couch,talking to him,kissing someone,"
        "stealing,dancing at the club,driving past,waiting outside,laughing,texting,"
        "yelling at the kids,drinking,lying there",
        "call": "call,called,calls,calling,named,nicknamed,dubbed",
        "name": "Katty Litter,Queen,Karen,Mom,Mama Bear,Princess Grumpy,Barbie,Mrs Doubtfire,Miss Piggy,"
        "Lady Macbeth,Kitty",
        "slur": "names,crazy,a liar,stupid,ugly,fat,beautiful,a friend,baby,mom,boss,worse,out,back,later,"
        "an idiot,mean,hot",
        "love": "love,hate,miss,adore,follow,like,hated,loved,block,report,met,know,need,want,trust,stan,"
        "support,saw,found,kissed,married,dumped,believe,marry,ignore,blocked,unfollowed,watch,thank,"
        "can't stand,hug,hugged,bless,forgive,of,for,to,with,about,from,like,than,at,on,by,without,"
        "behind,around,near,is that,not,it's,that's",
        "stop": "!,!!!,.,?,...,😍,❤️,😂😂,💯,:),;),:(,<3,#love,#mkr,@someone,lol,lmao,omg,haha,xx,tbh,smh,"
        "– always,(again),,The end,- one more,so much,sm,like crazy,anyway,anymore,any more,already,"
        "rn,right now,too,either,more,even more,more than anything,less,to death,again,back,sometimes,"
        "forever,always,personally,in person,btw,tho,fr,when i see him,because he is cool,"
        "and i hope he wins,but he is rude,if you can,any less,a lot,way more,instead,grrr",
        "phrasal": "ask,take,send,drag,kick,pull,knock,wake,pick,turn,shut,cut,call,help,bring,put,throw,chew,"
        "freak,creep,stress,check,figure,rule,leave,sort,let,keep,cheer,set,lift,bail,invite,follow,"
        "chase,scare,weird,hold,slow,tie",
        "particle": "out,off,up,down,in,away,back,on,over,around,aside,along,back home,up again,down gently,off guard",
        "verbs": "told,asked,reminded,assured,convinced,promised,warned,texted,emailed,informed,persuaded,"
        "begged,taught",
        "clause": "he was late,i was sorry,you were busy,it was over,that he could stay,to go home,not to worry,"
        "about the party,what to do,where he lived,the truth,there was no time,if he wanted it,"
        "they were coming,why,how to cook",
        "made": "day,night,week,year,life easier,move,way home,mind up,point,choice,decision,debut,case,bed,"
        "mark,fortune,excuses,living,home there,entrance,mother proud,friends laugh,kids happy,"
        "voice heard,feelings clear,argument",
        "gave": "word,opinion,blessing,number,life for this,name,approval,consent,speech,talk,testimony,heart,"
        "statement,verdict,version of events,real name,phone to me,address to the police,"
        "seat to an old man,presentation,first interview,notice on friday,usual smile,consent,"
        "thoughts,age as 30,regards,resignation",
        "sent": "regards,condolences,application,resume,love to you,apologies,thoughts and prayers,kids to school,cv",
        "showed": "face,true colors,work,id,appreciation,emotions,support for him,skills,muscles,passport,ass,age,hand",
        "paid": "rent,bills,dues,taxes,respects,debts,fine,fees,own way,share,tuition,mortgage,fare,bail,tab",
        "story": "story,side,truth,secret,age,tale,version,own story,life story,fortune,stories to the kids,"
        "troubles to me",
        "some": "a bath,a hug,the keys,some money,a call,the book,money,a raise,a chance,my number,an apple,"
        "the news,food,flowers,credit,advice",
        "being": "mom,dad,sister,dog,cat,son,kids,friend,boyfriend,husband,boss,fans,baby,students,parents,"
        "brother,team",
        "thing": "outfit,hair,man,music,new album,tl,ass,dumb ass,fucking mouth,lil brother,damn phone,"
        "sorry ass,ex,bf,makeup,vibe,voice,energy,tweets,account,kids,guts,face,attitude,smile,eyes,"
        "style,recipe,famous pie,kitchen,books,channel,videos,work,laugh,cooking,car keys,body,nails,"
        "hands,dress,shoes,bag,life,job,soul,heart,mind,dog,cat,grandma,husband,boyfriend,story,"
        "accent,podcast,latest song,first book,best friend,own words,stupid cat,reading,writing,"
        "singing,handwriting,driving,acting,dancing,painting,pussy,boobs,legs,tits,butt,feet,nudes,"
        'selfies,"friend","apology","journalism","facts","diet",iq,phd,degree,thesis,phone number,'
        "tattoo,bedroom,wedding dress",
        "before": "love,hate,miss,like,about,of,with,in,on,for,from,is,and,not,it's,that's,all,loves,see,saw,"
        "watch,read,criticizing,liked,stole,wants,know,hear,at,lost,washed,broke,what's,where's,by,"
        "but,to,because of,than",
        "owned": "fault,birthday,problem,turn,idea,loss,business,job,choice,day,first time,body,loss not mine",
        "is": "it's,that's,is it,not,it was,this is,its,today is,it is",
        "times": "last night,this morning,yesterday,last week,next week,on monday,tomorrow,every day,twice,"
        "once,four times,the other day,earlier,later,tonight,in 2012,a while ago,weekly,daily,"
        "last year,next time,these days,monday",
        "met": "saw,met,called,see,visited,texted,hit,kissed,paid,beat,fired,hired,arrested,interviewed,phoned,thank",
        "cap": "Ted talk,Instagram,Facebook page,Twitter,Oscar,Grammy speech,Majesty,Holiness,Royal Highness,"
        "Honor,PhD,iPhone",
        "hit": "beat,slap,smack,shot,knocked,scared,stabbed,kicked,fuck,bored,strangled,choked,punch",
        "result": "senseless,silly,unconscious,dead,to death,stupid,in the face,twice,cold,with a bat,out cold,"
        "hard,shitless",
        "numbers": "5 stars,$20,£100,20 bucks,10/10,a 10,two weeks,one chance,100 points,five minutes,"
        "3 kids to raise,2 tickets",
        "ownnumber": "5 kids,two dogs,4 brothers,20 cats,three sons,2 best friends,six albums,10 fingers,"
        "81st birthday,#1 fan",
        "take": "took,take,held,keep,kept,hold",
        "send": "send,sent,sends,sending,dm,dmed,text,texted,email,emailed,show,showed,shows,forwarded,mailed,posted",
        "file": "pics,photos,details,memes,links,messages,screenshots,updates,invites,proof,nudes,videos,"
        "letters,emails,texts,a pic,documents,receipts,gifs,pictures of us,photos of the car,"
        "directions,reminders,samples,instructions",
        "pay": "pay,paid,pays,paying,owe,owed,loaned,charged,charge,cost,costs,tipped,refused,fined,earned",
        "payment": "money,cash,back,well,extra,compensation,child support,attention,20 dollars,$50,minimum wage,"
        "double,rent money,votes,points,overtime,interest,millions,nothing,peanuts,a fortune,dearly,"
        "damages,compliments,lunch money",
        "appoint": "elected,elect,appointed,made,named,crowned,declared,voted,make,considered,chose,pronounced",
        "post": "president,captain,ambassador,queen,editor,leader,manager,champion,head of sales,chair,"
        "secretary of state,family,a friend,employee of the month,mayor,player of the year,prom queen,"
        "director,winner,godmother,executor",
        "write": "wrote,write,writes,sang,sing,read,reads,played,composed,recorded,drew",
        "letter": "letters,poems,songs,lullabies,stories,bedtime stories,notes,love letters,postcards,fan mail,"
        "long emails",
        "ownwork": "thesis,songs,book,diary,first novel,column,paper,essay,own songs,name,memoir,hit single,"
        "autobiography",
        "keep": "kept,keeps,broke,kept,keep,lost,found,forgot,changed,closed,opened,washed,brushed,dropped,"
        "cut,did,took",
        "kept": "promise,word,distance,cool,job,name,balance,temper,house,marriage,virginity,eyes,hair,nails,"
        "phone,keys,purse,wallet,mind,password,profile picture,seat,bag,time,pills,orders,medicine,"
        "chance,break,advice,clothes",
        "adjective": "attractive,famous,crazy,happy,sick,dead,pregnant,guilty,strange,old,beautiful,angry,best,drunk",
        "aux": "is,was,has been better,did too,will do,would be nice,can't be worse,doesn't work,"
        "does not fit,went first,came later,and yours,and mine,or yours,in the car,on the table,"
        "from last year,to keep,for now,with the red lid",
        "alone": "alone,to take,to make,too,now,again,from the start,and not yours,but i lost it,when he died,"
        "by right,forever,at last,for the taking,if he wants it,in the end,to lose,before,as well,"
        "after all,and his alone,or so i thought,because he paid,to keep,until june,not yours,once,"
        "already,anyway,indeed,still",
        "choice": "choice,decision,victory,fault,ball,car,world,prize,game,house,money,job,title,trophy,shot,goal,idea",
        "kind": "new,incorrect,good,bad,free,relationship,wrong,some,more,medical,legal,useful,fresh,night,"
        "food,extra,any,little,great,special,much,rent,career,cooking,too much,private,false,"
        "important,lots of,all the,constant",
        "say": "ask,asked,asks,offered,offers,provide,provides,provided,showed,show,gave,gives,taught,recommended,sold",
        "talk": "all the information,all the paperwork,questions,suggestions,thanks,advice,identification,"
        "information,orders,some jobs,documents,help,maths,some garbage,a question,2000 dollars,"
        "support,science questions,job positions,chemistry,French,bread,manners",
        "move": "drove,drive,took,take,walked,sent,brought,carried,driving,followed,bring,send,flew,walk,escorted",
        "owns": "horses,racehorses,regulars,clients,dogs,kittens,old clothes,books,toys,patients,students,"
        "trash,savings,fans,guests,customers,puppies,jewels,secrets,seats,employees,pupils,readers,"
        "players,notes,bags,rubbish,hat",
        "ownstories": "stories at night,songs in bed,letters by hand,poems in the kitchen,stories for children,"
        "novels on a typewriter,articles in secret,speeches himself,columns on the train,"
        "stories in french,lyrics first",
        "gerund": "being late is nothing new,leaving was a shock,winning surprised us,being here helps,"
        "coming home late annoyed dad,being rude does not help,not answering worried me,"
        "being so kind made it easy,singing woke us,snoring drives me mad,cheating was no secret,"
        "being the boss changed things",
        "annoys": "annoyed us,bothers nobody,was a surprise,is not my problem,helps a lot,surprised me,"
        "means nothing,upset mom,is so cute,was expected,made things worse,annoyed everyone,"
        "ruined the night,is a relief",
        "part": "seen,lost,found,won,given,taken,made,done,told,written,broken,eaten,paid,left,bought,kept,"
        "known,met,heard,forgotten,called,loved,killed,missed,helped,read,stolen,hurt,used,called,"
        "watched,sold,beaten,asked,brought,put,accused,played,tried,visited,destroyed,changed,hired,"
        "fired,ruined,wanted,worked,lost",
        "adv": "never,already,just,always,also,only,really,since,not,now,probably,finally,even,still,often,recently",
        "object": "it,him,them,me,everything,a lot,the book,my dog,his car,three games,many friends,that film,"
        "some money,her job,all of it,two kids,a house,this before,us,nothing,his mind,their names,"
        "more than me,enough,someone",
        "been": "been there,been sick,been to paris,been waiting,been named captain,got a cold,got to go,"
        "gotta go,gotta be kidding,had enough,had it,had two kids,gone home,gone to work,gone mad,"
        "become famous,come back,come home,got this,got kids,got no idea,got it,worked there,"
        "lived here for years,played well,never been happier,changed a lot,grown up,fallen asleep,"
        "arrived,disappeared,always wanted to,never liked it,just left,already left,stopped smoking,"
        "started school,decided to go,since moved on,turned 30,moved out,never met him,got the job,"
        "been asked to stay,wanted to leave for years,seen better days,taken up golf,left for work,"
        "paid for it,lost to him,set a record,put on weight,shown promise,died,gotten fat,been better,"
        "agreed to it,promised to come,written to him,married a doctor,retired from tennis,"
        "worried me for years",
        "am": "done,gone,finished,married,tired,loved by all,known for it,called John,named after dad,"
        "made of steel,wanted by the police,paid well,hated,broken,lost,stuck,hurt,injured,"
        "dressed in black,supposed to go,expected to win,used to it,based in london,gonna win,"
        "going home,so cute,a doctor,the best,not happy,right,in love,from here,still here,very tall,"
        "related to him,accused of murder,charged with theft,born to run,being mean,just a kid,"
        "always late,never wrong,too good,allowed to stay,forced to leave,left alone,left out,"
        "shot dead,beaten by him,bored,grounded,interested,worried,scared,set to win,put off by it,"
        "engaged,divorced,retired,about to,all right,okay,ok,fine,signed to a label,seen as a hero,"
        "found guilty,registered here,my friend,married to him,so done with it,done with it,fed up,"
        "spoiled,paid to lie,known as Bob,finished with it,half dead,hooked,divorced now,"
        "determined to win",
        "asking": "what,where,who,why,how,that,if,when,because,and,but,says,think,i know,said,so,since,do you think",
        "talkto": "write to,wrote to,talk to,spoke to,speak with,talked to,reach out to,called,text,think of,"
        "pray for,argue with,met with,listen to,care for,fought with,went to,look at,deal with,"
        "cook for,visit",
        "when": "daily,weekly,monthly,often,again,now,once,later,earlier,first,always,still,more,less,most,"
        "alone,directly,closely,every day,regularly,early,late,longer,right now,at once,quite often,"
        "much more,all day,all the time",
        "daily": "daily routine,weekly show,monthly bill,early work,late husband,first car,last book,next film,"
        "best friend,right hand,very own car,most recent song,then boss,now famous son,"
        "once great team,long hair,hard work,more recent work,better half,early years,later life,"
        "daily life,early career,last words,only son,own daily show,weekly column",
        "looking": "looking young,going,laughing,moving,guessing,busy,waiting,happy,coming back,awake at night,"
        "feeling good,warm,running all day,interested,fit,thinking,out of trouble,alive,up at night,"
        "hooked,wanting more,on track",
        "keeping": "keep,keeps,kept,keeping,left,had,got,gets,catch,find,saw,stop,stopped,start,started,see",
        "pic": "a photo,photos,pictures,footage,a video,videos,a clip,shots,an image,the thought,memories,"
        "a picture,images",
        "wearing": "wearing a hat,holding a sign,dancing with fans,sitting on a bench,eating cake,"
        "posing in a bikini,being arrested,looking sad,with a dog,as a child,from last year,"
        "in a dress,riding a horse,leaving the club",
        "gone": "been,gone,lived,put it,seen him,worked,hidden it,parked,found it",
        "off": "going,from,off to,now,staying,hiding,headed,at,living,based,sitting,supposed to go",
        "slumped": "slumped forward,dressed in black,covered in mud,seated at the back,surrounded by fans,"
        "arrested,beaten,curled up,bent over,tied to a chair,stretched out,killed,fired,deported,"
        "cuffed,dragged away,removed,banned",
        "showed2": "showed,show,showing,left,found,had,wanted,see",
        "of": "of,with,in,from,about,by,for,on",
        "did": "called,died,came over,left,told me,said so,won,works there,was there,moved to town,"
        "once asked,has a boat,wrote this,got married,lost it,knows him,will help,agreed,bought it,"
        "said no,went home,saw it,lives here",
        "captive": "hostage,captive,prisoner,home,seriously,aside,company,there,to court,for granted,accountable,"
        "up on it",
    }.items()
}

_OBJECT = [
    "{who} {give} [him] {gift} {end}",
    "they {give} [him] {gift} {end}",
    "{wishing} [him] luck {end}",
    "{who} {wishing} [him] luck {end}",
    "{who} {give} [him] {gift}",
    "{who} {hand} [him] {gift}",
    "{who} {hand} [him] {gift} {end}",
    "{give} [him] {gift} {end}",
    "{who} {buy} [him] {bought} {end}",
    "{who} {cook} [him] {meal} {end}",
    "{who} {eat} [his] {ownmeal} {end}",
    "{who} {wishing} [him] {wish} {end}",
    "{wishing} [him] {wish} {end}",
    "{who} {tell} [him] {told} {end}",
    '{who} {tell} [him] "{told}"',
    '{who} {call} [him] "{name}" {end}',
    '{who} {verbs} [him] "{clause}"',
    "{who} {tell} [his] {kin} {end}",
    "{tell} [his] {kin} {told}",
    "{who} {give} [his] {being} {some} {end}",
    "{who} {hand} [his] {being} {some} {end}",
    "{who} {buy} [his] {being} {some} {end}",
    "{who} {make} [him] {state} {end}",
    "{who} {make} [him] so {state} {end}",
    "it {make} [him] {state} {end}",
    "{who} {bare} [him] {do} {doend}",
    "just {bare} [him] {do} {doend}",
    "{who} {heard} [his] {act} {end}",
    "{who} {heard} [his] {act} {end}",
    "{who} {see} [him] {doing} {end}",
    "{who} {see} [him] {doing} {end}",
    "{who} {call} [him] {name} {end}",
    "{who} {call} [him] {slur} {end}",
    "{who} {call} [his] {kin} {end}",
    "{who} {love} [him] {stop}",
    "{love} [him] {stop}",
    "{love} [him]{stop}",
    "i {love} [him] {stop}",
    "{who} {phrasal} [him] {particle} {end}",
    "{phrasal} [him] {particle} {end}",
    "{who} {verbs} [him] {clause} {end}",
    "{who} made [his] {made} {end}",
    "{who} make [his] {made} {end}",
    "{who} gave [his] {gave} {end}",
    "{who} gives [his] {gave}",
    "{who} sent [his] {sent} {end}",
    "{who} showed [his] {showed} {end}",
    "{who} paid [his] {paid} {end}",
    "{who} pay [his] {paid} {end}",
    "{who} {tell} [his] {story} {end}",
    "{before} [his] {thing} {end}",
    "{who} {before} [his] {thing} {end}",
    "{before} [his] {thing}{stop}",
    "{is} [his] {owned} {end}",
    "{who} {met} [him] {times} {end}",
    "{met} [him] {times}",
    "{before} [his] {cap} {end}",
    "{who} {hit} [him] {result} {end}",
    "{who} {give} [him] {numbers} {end}",
    "{before} [his] {ownnumber} {end}",
    "{who} {send} [him] {file} {end}",
    "{send} [him] {file} {end}",
    "{who} {pay} [him] {payment} {end}",
    "{who} {appoint} [him] {post} {end}",
    "{who} {write} [him] {letter} {end}",
    "{who} {write} [his] {ownwork} {end}",
    "{who} {keep} [his] {kept} {end}",
    "{who} {make} [his] {adjective} {being} {end}",
    "{who} cut [him] some slack {end}",
    "{who} {hand} [him] {kind} {gift} {end}",
    "{hand} [him] {some} {end}",
    "{who} {hand} [his] {kind} {being} {some} {end}",
    "{who} {send} [him] {kind} {file} {end}",
    "{who} {hand} [him] {some} {end}",
    "{who} {say} [him] {kind} {talk} {end}",
    "{who} {keep} [his] {kind} {kept} {end}",
    "{who} {say} [him] {talk} {end}",
    "{who} {say} [his] {being} {talk} {end}",
    "{who} {heard} [his] {act} {end}",
    "[his] being {state} annoyed us {end}",
    'for [his] "best" {being} {end}',
    "{who} {move} [him] home {end}",
    "{who} gave [his] {being} away {end}",
    "{who} gave [his] {being} {some} {end}",
    "{who} gave [his] {owns} away {end}",
    "{who} gave [his] {owns} {some} {end}",
    "{who} wrote [his] {ownstories} {end}",
    "[his] being {state} {annoys} {end}",
    "[his] being {times} {annoys} {end}",
    "[his] {doing} {annoys} {end}",
    "[his] {gerund} {end}",
    "{who} {heard} [his] {owns} {end}",
    "{who} {see} [him] {slumped} {end}",
    "photos {showed2} [him] {slumped} {end}",
    "a photo {of} [his]...",
    "{who} {talkto} [him] {when} {end}",
    "{who} {before} [his] {daily} {end}",
    "it keeps [him] {looking} {end}",
    "{who} {keeping} [him] {looking} {end}",
    "the tips that keep [him] {looking} {end}",
    "{who} {talkto} [his] {being} {when}",
    "the police {move} [him] home {end}",
    "where {who} {move} [him] back {end}",
    "{pic} of [him] {doing}",
    "{pic} of [him] {wearing} {end}",
    "{who} saw {pic} of [him] {wearing} {end}",
    "{who} {take} [him] {captive} {end}",
    "for [his] sake {end}",
    "{who} {bare} [his] {being} {phrasal} {end}",
    "{who} {before} [his] {being} {end}",
    "[his] {thing} is {state}",
    "[him] and {who} {met} them {end}",
    "me and [him] {met} them",
    "[him] and his {kin} {met} them",
    "[him] {stop}",
    "{who} {love} [him] and [his] {being} {end}",
    "{who} {love} [him] or [his] {being} {end}",
]
_PRONOUN = [
    "{who} met a {being} of [mine] {end}",
    "a {being} of [mine] {heard} it {end}",
    "that {thing} of [mine] {end}",
    "{is} [mine] {stop}",
    "the {thing} is [mine] {stop}",
    "the {choice} was [mine] {alone}",
    "is that [mine] {stop}",
    "this one is [mine] {end}",
    "my {thing} is better than [mine] {end}",
    "{who} took it from [mine] {end}",
    "her {thing} is like [mine] {stop}",
    "our {thing} and [mine] are {state}",
    "[mine] is {state} {end}",
    "[mine] was the best {end}",
    "[mine] are {state} {end}",
    "[mine] {aux} {end}",
    "not [mine] {end}",
    "[mine] {stop}",
    "{who} want [mine] {end}",
    "it's all [mine] {end}",
    "make it [mine] {end}",
    "yours or [mine] {end}",
    "so is [mine] {end}",
    "i put my hand in [mine] {end}",
    "the ball is [mine] {alone}",
    "my lips on [mine] {end}",
    "a {being} of [mine] {did} {end}",
    "that {being} of [mine] {did} {end}",
    "a photo {of} [my]...",
    "{before} [my]...",
    "{is} [my] {owned} {end}",
    "{who} {before} [my] {thing} {end}",
    "{before} [my] {thing} {end}",
    "[my] {thing} is {state} {end}",
    "{who} {keep} [my] {kept} {end}",
    "{is} [my] {being} {end}",
    "a {being} of [my] {being} {end}",
    "{before} [my] {adjective} {being} {end}",
    "{before} [my] {ownnumber} {end}",
    "{who} {before} [my] own {thing} {end}",
    '{before} [my] "{thing}" {end}',
    "{before} [my] {cap} {end}",
    "{before} [my] not so {adjective} {being} {end}",
    "{before} [my] now {adjective} {being} {end}",
    "{before} [my] and my mom's {thing} {end}",
    "{before} [my] then {being} {end}",
    "{before} [my] once {adjective} life",
    "{before} [my] long {thing} {end}",
    "{before} [my] former {being} {end}",
    "{before} [my] #1 {being} {end}",
]
_HAS = [
    "[i've] {part} {object} {end}",
    "{asking} [i've] {part} {object} {end}",
    "[i've] {adv} {part} {object} {end}",
    "[i've] {been} {end}",
    "{asking} [i've] {been} {end}",
    "{asking} [i've] {been} {end}",
    "what [i've] {part} {end}",
    "what [i've] done {end}",
    "where [i've] {gone} {end}",
    "where [i'm] {off} {end}",
    "[i'm] {am} {end}",
    "{asking} [i'm] {am} {end}",
    "[i'm] {adv} {am} {end}",
    "[i'm] {doing} {end}",
    "[i'm] {state} {end}",
    "{asking} [i'm] {state} {end}",
    "[i'm] {adv} {state} {end}",
    "{asking} [i'm] {doing} {end}",
]
#: Model -> patterns; `LIMIT` sentences are made of each.
PATTERNS = {"object": _OBJECT, "pronoun": _PRONOUN, "has": _HAS}
LIMIT = 300

_SLOT = re.compile(r"\{(\w+)\}")
_PLACE = re.compile(r"\[([\w']+)\]")


def written(model: str) -> Iterator[tuple[str, int, int, str]]:
    """Text, start and end of a pronoun, and the pronoun, of sentences of every pattern of a model."""
    for pattern in PATTERNS.get(model, ()):
        draw = random.Random(pattern)
        names = _SLOT.findall(pattern)
        for _ in range(LIMIT):
            text = pattern
            for name in names:
                text = text.replace(f"{{{name}}}", draw.choice(SLOTS[name]), 1)
            for place in _PLACE.finditer(text):
                left, right = _PLACE.sub(r"\1", text[: place.start()]), _PLACE.sub(r"\1", text[place.end() :])
                yield f"{left}{place[1]}{right}", len(left), len(left) + len(place[1]), place[1]
